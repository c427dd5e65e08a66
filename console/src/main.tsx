import '@fontsource-variable/figtree/wght.css';
import './styles/base.css';
import './styles/app-shell.css';
import './styles/parts.css';
import './styles/pictures.css';
import './styles/charts.css';
import './styles/tables.css';
import './styles/layers.css';
import './styles/relations.css';
import './styles/sentence.css';
import './styles/products.css';
import './styles/product.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { Toasts } from './parts/shell/app-shell.tsx';
import { applyStoredLanguage, applyStoredTheme, useLanguage } from './state/language.ts';
import { queries } from './state/queries.ts';
import { SessionProvider } from './state/session.tsx';

applyStoredTheme();

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');

/** Texts are translated when drawn: a new language redraws everything, and typed input stays. */
function Root() {
  useLanguage();
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <Toasts>
          <SessionProvider>
            <App />
          </SessionProvider>
        </Toasts>
      </QueryClientProvider>
    </CSPProvider>
  );
}

await applyStoredLanguage();
createRoot(root).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
