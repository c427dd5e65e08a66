import { Type } from 'typebox';
import { checkHttpUrl, readHttpUrl, URL_LENGTH } from '../../outbound/outbound.ts';
import { openHttpSource } from './http-source.ts';
import { checkSourceHeaders } from './source-headers.ts';
import { defineSource } from './source-record.ts';

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
    url: checkHttpUrl(sent),
    headers: checkSourceHeaders(own),
  }),
  open: (source, run, settings) => openHttpSource(source, settings, run),
  /** The query of a URL may be secret. */
  describe: ({ url: sent }) => sent.split(/[?#]/, 1)[0] ?? '',
  secrets: {
    members: ['headers'],
    sentTo: ({ url: sent }) => (checkHttpUrl(sent) === undefined ? readHttpUrl(sent).origin : undefined),
  },
});
