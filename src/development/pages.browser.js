/* The script of the development pages. Without it, nothing but its additions is missing. */

/** Counts the photos that cannot be loaded, among what is missing. */
function countFailed() {
  const failed = [...document.images].filter((image) => image.complete && !image.naturalWidth);
  const mark = document.getElementById('not-loaded');
  if (mark === null || failed.length === 0) return;
  mark.className = 'mark';
  mark.textContent = `Photo not loaded ${failed.length}`;
  mark.hidden = false;
  mark.closest('details')?.removeAttribute('hidden');
}
addEventListener('error', countFailed, true);
countFailed();

/* Copies the text before the button. */
for (const button of document.querySelectorAll('button.copy')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'Copied';
  });
}

/** Marks a link whose address does not respond. */
for (const state of document.querySelectorAll('[data-state]')) {
  // Without a body: one that is not read keeps its connection busy.
  const request = fetch(state.dataset.state, { method: 'HEAD' });
  const { ok, status } = await request.catch(() => ({ status: 'not at all' }));
  if (ok) continue;
  state.textContent = `responds ${status}`;
  state.className = 'mark';
}
