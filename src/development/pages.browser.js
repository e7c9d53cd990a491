/* The script of the development pages. They also work without it. */

/** Shows how many photos cannot be loaded, next to the other missing parts. */
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

/* Makes each button copy the text before it. */
for (const button of document.querySelectorAll('button.copy')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'Copied';
  });
}

/** Marks a link whose address does not respond. */
for (const state of document.querySelectorAll('[data-state]')) {
  // HEAD, because a body that nobody reads keeps the connection busy.
  const request = fetch(state.dataset.state, { method: 'HEAD' });
  const { ok, status } = await request.catch(() => ({ status: 'not at all' }));
  if (ok) continue;
  state.textContent = `responds ${status}`;
  state.className = 'mark';
}
