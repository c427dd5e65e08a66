/** The formats that the service writes: rows become the text of a file. */

import { csv } from './csv/write-csv.ts';
import { etimXchange } from './etim-xchange/write-etim-xchange.ts';
import { googleMerchant } from './google-merchant/write-google-merchant.ts';
import { ndjson } from './json/write-ndjson.ts';
import { jsonLd } from './json-ld/write-json-ld.ts';
import { magentoCsv } from './magento-csv/write-magento-csv.ts';
import { openai } from './openai/write-openai.ts';
import type { OutputFormat } from './output/output.ts';
import { shopifyCsv } from './shopify-csv/write-shopify-csv.ts';
import { ucp } from './ucp/write-ucp.ts';
import { woocommerceCsv } from './woocommerce-csv/write-woocommerce-csv.ts';

export const OUTPUT_FORMATS: readonly OutputFormat[] = [
  ...[googleMerchant, openai, shopifyCsv, woocommerceCsv, magentoCsv],
  ...[csv, ndjson, jsonLd, etimXchange, ucp],
];

export interface OutputFormatSettings {
  readonly type: string;
  readonly variant?: string | undefined;
  readonly compression?: 'gzip' | 'none' | undefined;
}

/** The description of a format in docs/openapi.json, for programs that build a form from it. */
export const describeOutputFormat = ({ type, label, description, ...format }: OutputFormat) => ({
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

export function getOutputFormat(type: string): OutputFormat {
  const format = OUTPUT_FORMATS.find((candidate) => candidate.type === type);
  if (format === undefined) throw new Error(`no format ${type}`);
  return format;
}

/** The first file has the same name whether or not others follow, so that its address never changes. */
export function planFiles({ type, variant, compression }: OutputFormatSettings) {
  const format = getOutputFormat(type);
  const chosen = format.variants[variant ?? format.defaultVariant];
  if (chosen === undefined) throw new Error(`no variant ${variant} of ${type}`);
  const isPacked = (compression ?? chosen.compression) === 'gzip';
  const ending = isPacked ? `${chosen.ending}.gz` : chosen.ending;
  return {
    format,
    variant: chosen,
    isPacked,
    mediaType: isPacked ? 'application/gzip' : chosen.mediaType,
    /** @param shard the number of the file, from 1 */
    nameOf: (shard: number): string =>
      format.servedAs ?? (shard === 1 ? `products.${ending}` : `products-${shard}.${ending}`),
  };
}
