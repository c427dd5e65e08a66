/** Examples can be copied, and content wider than the page can be scrolled with the keyboard. */
for (const block of document.querySelectorAll('main pre')) {
  const button = Object.assign(document.createElement('button'), { textContent: 'Copy', className: 'copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '');
    button.textContent = 'Copied';
  });
  const frame = Object.assign(document.createElement('div'), { className: 'block' });
  block.replaceWith(frame);
  frame.append(block, button);
}

const wide = document.querySelectorAll<HTMLElement>('main pre, main table');

function makeFocusable(): void {
  for (const part of wide) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute('tabindex');
  }
}

addEventListener('resize', makeFocusable);
makeFocusable();
