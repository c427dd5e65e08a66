import { type Static, Type } from 'typebox';
import { checkGlob, GLOB_LENGTH } from './glob.ts';
import { checkSourceHeaders, checkSourceUrl, readSourceUrl, URL_LENGTH } from './source-url.ts';

const closed = { additionalProperties: false } as const;

const entry = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: GLOB_LENGTH,
    description: 'which file to take out of a zip archive with several: a pattern with *, ? and **',
  }),
);

/** Source: docs/interface.md §13.1. */
export const HttpSourceSchema = Type.Object(
  {
    type: Type.Literal('http'),
    url: Type.String({
      minLength: 1,
      maxLength: URL_LENGTH,
      description: 'http:// or https://, without credentials',
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 8_192 }), {
        maxProperties: 32,
        description:
          'sent with the request, dropped on a redirect to another origin. Answers show *** in place of each value; ***, sent back, keeps the value as long as the origin of the URL stays',
      }),
    ),
    entry,
  },
  { ...closed, title: 'HttpSource', description: 'A file fetched with one GET' },
);

export const UploadSourceSchema = Type.Object(
  { type: Type.Literal('upload'), entry },
  { ...closed, title: 'UploadSource', description: 'A file that is sent in; each file starts a run' },
);

export const DirectorySourceSchema = Type.Object(
  {
    type: Type.Literal('directory'),
    pattern: Type.String({
      minLength: 1,
      maxLength: GLOB_LENGTH,
      description: 'below RELATA_IMPORT_DIR/<projectId>/, with *, ? and ** for folders, as in **/*.csv',
    }),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching files in the order of their names (default), or the newest one alone',
      }),
    ),
    entry,
  },
  {
    ...closed,
    title: 'DirectorySource',
    description: 'Files in a folder of the machine that the service runs on',
  },
);

export const SourceSchema = Type.Union([HttpSourceSchema, UploadSourceSchema, DirectorySourceSchema], {
  title: 'PipelineSource',
});
export type Source = Static<typeof SourceSchema>;
export type HttpSourceDefinition = Static<typeof HttpSourceSchema>;

/** @returns what the schema cannot say is wrong with a source, for the details of a refusal */
export function checkSource(source: Source): string[] {
  const problems: string[] = [];
  const note = (path: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
  };
  if (source.entry !== undefined) note('/source/entry', globProblem(source.entry));
  if (source.type === 'directory') note('/source/pattern', globProblem(source.pattern));
  if (source.type === 'http') {
    note('/source/url', checkSourceUrl(source.url));
    note('/source/headers', checkSourceHeaders(source.headers ?? {}));
  }
  return problems;
}

function globProblem(pattern: string): string | undefined {
  const problem = checkGlob(pattern);
  return problem === undefined ? undefined : `A pattern ${problem}`;
}

/** What answers show in place of the value of a header. */
export const MASK = '***';

/** @returns the source as it may be shown: the values of its headers are write-only */
export function maskSource<Any extends Source>(source: Any): Any {
  if (source.type !== 'http' || source.headers === undefined) return source;
  return { ...source, headers: Object.fromEntries(Object.keys(source.headers).map((name) => [name, MASK])) };
}

/**
 * Fills in the values that a definition, read and sent back, has masked.
 * @returns undefined when there is no such value, or the URL has another origin now: whoever may change the URL but not
 * read the headers could have them sent to a server of their own
 */
export function unmaskSource<Any extends Source>(sent: Any, stored: Source | undefined): Any | undefined {
  if (sent.type !== 'http' || sent.headers === undefined) return sent;
  const known = keptHeaders(sent, stored);
  const headers = Object.entries(sent.headers).map(([name, value]) => [
    name,
    value === MASK ? known.get(name.toLowerCase()) : value,
  ]);
  if (headers.some(([, value]) => value === undefined)) return undefined;
  return { ...sent, headers: Object.fromEntries(headers) as Record<string, string> };
}

function keptHeaders(sent: HttpSourceDefinition, stored: Source | undefined): Map<string, string> {
  if (stored?.type !== 'http' || checkSourceUrl(sent.url) !== undefined) return new Map();
  const isSameOrigin = readSourceUrl(sent.url).origin === readSourceUrl(stored.url).origin;
  if (!isSameOrigin) return new Map();
  return new Map(Object.entries(stored.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}
