"use strict";
// The form inside the frame.
const TOPICS = ["Canteen", "Desks", "Meeting rooms", "Network"];

document.body.innerHTML = html`<form id="form" novalidate><h2>How satisfied are you?</h2>
  <fieldset class="row"><legend>Rating</legend>${[1, 2, 3, 4, 5].map((n) => html`<label><input type="radio" name="rating" value="${n}"> ${n}</label>`)}</fieldset>
  <p class="field"><label for="topic">Topic</label><select id="topic" name="topic">${TOPICS.map((topic) => html`<option>${topic}</option>`)}</select></p>
  <p class="field"><label for="comment">Comment</label><textarea id="comment" name="comment" rows="3"></textarea></p>
  <fieldset><label><input type="checkbox" name="contact"> You may contact me</label></fieldset>
  <p id="problem" role="alert" class="error"></p><button class="main">Send feedback</button></form>`.text;

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const { rating, topic, comment, contact } = Object.fromEntries(new FormData(event.target));
  if (!rating) return ($("#problem").textContent = "Please choose a rating.");
  store.change((state) => (state.feedback = { rating: Number(rating), topic, comment: comment.trim(), contact: Boolean(contact) }));
  document.body.innerHTML = html`<h2>Thank you, Robin</h2><p>Your feedback on ${topic.toLowerCase()} has been sent.</p>`.text;
  if (parent !== window) parent.feedbackReceived();
});
