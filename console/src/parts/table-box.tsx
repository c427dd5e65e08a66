import type { ReactNode } from 'react';

interface Shape {
  label: string;
  /** Not higher than a part of the screen. */
  isShort?: boolean;
  children: ReactNode;
}

/** A table that scrolls, and may have no link or button that takes the keyboard there. */
export function TableBox({ label, isShort, children }: Shape) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section className={isShort ? 'table-box short' : 'table-box'} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
