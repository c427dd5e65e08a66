import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../kernel/errors.ts';
import type { Server } from '../http.ts';
import { type BuiltFiles, readBuiltFiles, sendAsset, sendPage } from './built-files.ts';

/** What `npm run docs` makes. Source: docs/interface.md §10.3. */
const DOCS_FOLDER = fileURLToPath(new URL('../../../../site/dist/', import.meta.url));

/** Everything is a file of ours; nothing is sent anywhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * Serves the documentation under `/docs/`, which without its build leads to the API page. Its files are read when somebody
 * first reads it: most processes never need them.
 */
export function serveDocs(server: Server, folder = DOCS_FOLDER): void {
  let read: BuiltFiles | undefined;
  const files = () => {
    read ??= readBuiltFiles(folder, '**');
    return read;
  };
  const config = { guard: 'none' } as const;
  const schema = { hide: true };

  server.get('/docs', { config, schema }, async (_request, reply) => reply.redirect('/docs/', 308));

  server.get('/docs/', { config, schema }, async (request, reply) => {
    const page = files().get('index.html');
    if (page === undefined) return reply.header('cache-control', 'no-cache').redirect('/docs/api', 302);
    return sendPage(page, POLICY, { request, reply });
  });

  server.get('/docs/*', { config, schema }, async (request, reply) => {
    const { '*': name } = request.params as { '*': string };
    const page = files().get(name.endsWith('.svg') ? name : `${name}.html`);
    if (page === undefined) throw new ServiceError('not_found');
    return sendPage(page, POLICY, { request, reply });
  });

  server.get('/docs/assets/:file', { config, schema }, async (request, reply) =>
    sendAsset(files(), request, reply),
  );
}
