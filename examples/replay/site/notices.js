for (const button of document.querySelectorAll('button')) {
  button.addEventListener('click', () => {
    document.title = `${button.textContent} was chosen`;
  });
}
