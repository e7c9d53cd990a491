/* The script of the start page and of the preview. Without it, nothing but its additions is missing. */

/** Counts the photos that cannot be loaded, among what is missing. */
const failed = new Set();
function countFailed(image) {
  failed.add(image);
  for (const mark of document.querySelectorAll('#not-loaded')) {
    mark.textContent = `Photo not loaded ${failed.size}`;
    mark.hidden = mark.closest('details').hidden = false;
  }
}
addEventListener('error', ({ target }) => target.src && countFailed(target), true);
for (const image of document.images) {
  if (image.complete && image.naturalWidth === 0) countFailed(image);
}

/** Copies the text before the button. */
for (const button of document.querySelectorAll('button.copy')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'Copied';
  });
}

/** Shows whether the address of a link responds. */
for (const state of document.querySelectorAll('[data-state]')) {
  const { ok, status } = await fetch(state.dataset.state).catch(() => ({ status: 'not at all' }));
  state.textContent = ok ? 'runs' : `responds ${status}`;
  state.className = ok ? 'badge' : 'mark';
}
