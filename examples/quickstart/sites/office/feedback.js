"use strict";
// A page whose form lives in a frame.
function render() {
  const { feedback } = store.read();
  draw(html`<h1>Feedback</h1><p class="lead">Two minutes on how the office works for you. The form below belongs to another page.</p>
    <p id="received" class="chip ${feedback ? "good" : "warn"}">${feedback ? `Received, ${feedback.rating} of 5` : "Nothing sent yet"}</p>
    <iframe id="survey" title="Feedback form" src="feedback-form.html"></iframe>`);
}

// Called by the form in the frame.
function feedbackReceived() {
  const { feedback } = store.read();
  $("#received").className = "chip good";
  $("#received").textContent = `Received, ${feedback.rating} of 5`;
}

render();
