import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../kernel/errors.ts';
import type { Server } from '../http.ts';
import { readBuiltFiles, sendAsset, sendPage } from './built-files.ts';

/** What `npm run build` makes. Source: docs/interface.md §14.5. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

/**
 * Scripts and styles are files of ours and nothing else; a page cannot send what it knows anywhere but here. Pictures
 * of products come from wherever a shop keeps them.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' http: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * Serves the console under `/console/`. Its files are read once: they are few, and a path can then name no other file.
 * Source: docs/interface.md §14.5.
 * @returns whether it was built
 */
export function serveConsole(server: Server, folder = CONSOLE_FOLDER): boolean {
  const files = readBuiltFiles(folder, '{index.html,assets/*}');
  const isBuilt = files.has('index.html');
  if (!isBuilt) {
    server.log.warn(
      'the console is not built, /console/ and links to it answer 404: run npm ci && npm run build, then start again',
    );
  }
  const config = { guard: 'none' } as const;
  const schema = { hide: true };

  server.get('/console', { config, schema }, async (_request, reply) => reply.redirect('/console/', 308));

  server.get('/console/', { config, schema }, async (request, reply) => {
    const page = files.get('index.html');
    if (page === undefined) throw new ServiceError('console_missing');
    return sendPage(page, POLICY, { request, reply });
  });

  server.get('/console/assets/:file', { config, schema }, async (request, reply) => {
    return sendAsset(files, request, reply);
  });

  return isBuilt;
}
