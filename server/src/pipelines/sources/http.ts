import { Type } from 'typebox';
import { openHttpSource } from './http-source.ts';
import { defineSource } from './source-record.ts';
import { checkSourceHeaders, checkSourceUrl, readSourceUrl, URL_LENGTH } from './source-url.ts';

const url = Type.String({
  minLength: 1,
  maxLength: URL_LENGTH,
  'x-label': 'URL',
  description: 'http:// or https://, without credentials',
});
const headers = Type.Record(Type.String(), Type.String({ maxLength: 8_192 }), {
  maxProperties: 32,
  description:
    'sent with the request, dropped on a redirect to another origin. Answers show *** in place of each value; ***, sent back, keeps the value as long as the origin of the URL stays',
});

export const http = defineSource({
  type: 'http',
  title: 'HttpSource',
  label: 'A URL that is fetched',
  description: 'A file fetched with one GET',
  options: { url, headers: Type.Optional(headers) },
  check: ({ url: sent, headers: own = {} }) => ({
    url: checkSourceUrl(sent),
    headers: checkSourceHeaders(own),
  }),
  open: (source, run, settings) => openHttpSource(source, settings, run),
  /** The query of a URL may be secret. */
  describe: ({ url: sent }) => sent.split(/[?#]/, 1)[0] ?? '',
  secrets: {
    members: ['headers'],
    sentTo: ({ url: sent }) => (checkSourceUrl(sent) === undefined ? readSourceUrl(sent).origin : undefined),
  },
});
