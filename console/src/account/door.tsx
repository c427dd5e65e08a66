import type { ReactNode } from 'react';
import mark from '../mark.svg';
import { LanguageField } from '../parts/shell/language-field.tsx';

/** The page before one is in. */
export function Door({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="door">
      <div className="door-box">
        <h1 className="brand">
          <img src={mark} alt="" />
          {title}
        </h1>
        {children}
        <LanguageField />
      </div>
    </main>
  );
}
