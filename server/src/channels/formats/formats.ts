/**
 * The door of formats: the fields of an outgoing file, and how it is written. Pure; a format never knows
 * where a product comes from.
 */
import { etimXchange } from './etim-xchange.ts';
import type { ChannelFormat } from './format.ts';
import { googleMerchant } from './google-merchant.ts';
import { jsonLd } from './json-ld.ts';
import { openai } from './openai.ts';
import { csv, ndjson } from './plain-formats.ts';
import { magentoCsv, shopifyCsv, woocommerceCsv } from './shop-lists.ts';
import { ucp } from './ucp.ts';

export {
  type ChannelFormat,
  CURRENCY_SIGNS,
  type FeedRow,
  type Field,
  freeField,
  RELATED_AS,
  type ReadField,
  type RelatedAs,
  type RelatedProducts,
  type RowWriter,
  readField,
  type SuggestedSource,
} from './format.ts';

export const FORMATS: readonly ChannelFormat[] = [
  ...[googleMerchant, openai, shopifyCsv, woocommerceCsv, magentoCsv],
  ...[csv, ndjson, jsonLd, etimXchange, ucp],
];

export interface ChosenFormat {
  readonly type: string;
  readonly variant?: string | undefined;
  readonly compression?: 'gzip' | 'none' | undefined;
}

/** The description of a format in docs/openapi.json, for programs that build a form from it. */
export const describeFormat = ({ type, label, description, ...format }: ChannelFormat) => ({
  type,
  label,
  description,
  variants: Object.keys(format.variants),
  ...(format.fields && {
    fields: format.fields.map(({ name, isRequired, choices }) => ({
      name,
      ...(isRequired && { isRequired }),
      ...(choices && { choices }),
    })),
  }),
  ...(format.wholeBecause === undefined && { takesChanges: true }),
});

export type FeedFiles = ReturnType<typeof planFiles>;

export function getFormat(type: string): ChannelFormat {
  const format = FORMATS.find((one) => one.type === type);
  if (format === undefined) throw new Error(`no format ${type}`);
  return format;
}

/** The first file has the same name whether or not others follow, so that its address stays. */
export function planFiles({ type, variant, compression }: ChosenFormat) {
  const format = getFormat(type);
  const chosen = format.variants[variant ?? format.defaultVariant];
  if (chosen === undefined) throw new Error(`no variant ${variant} of ${type}`);
  const isPacked = (compression ?? chosen.compression) === 'gzip';
  const ending = isPacked ? `${chosen.ending}.gz` : chosen.ending;
  return {
    format,
    variant: chosen,
    isPacked,
    mediaType: isPacked ? 'application/gzip' : chosen.mediaType,
    /** @param shard from 1 on */
    nameOf: (shard: number): string =>
      format.servedAs ?? (shard === 1 ? `products.${ending}` : `products-${shard}.${ending}`),
  };
}
