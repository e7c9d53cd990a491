/* The script of the development pages. The pages also work without it. */

/**
 * Shows the number of photos that could not be loaded, next to the counts of other missing parts.
 */
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

/* Makes each copy button copy the text before it. */
for (const button of document.querySelectorAll('button.copy')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'Copied';
  });
}

/* Marks links whose URLs do not respond successfully. */
for (const state of document.querySelectorAll('[data-state]')) {
  // Uses HEAD, because an unread body would keep the connection busy.
  const request = fetch(state.dataset.state, { method: 'HEAD' });
  const { ok, status } = await request.catch(() => ({ status: 'not at all' }));
  if (ok) continue;
  state.textContent = `responds ${status}`;
  state.className = 'mark';
}
