import { readRelated } from '../../relations/answering/answering.ts';
import type { FitAnswer } from '../../relations/fit/fit.ts';
import { shareText } from '../../storage/threads/threads.ts';
import { type ChannelReading, MEMBERS, resolve } from './channel-reading.ts';
import type { UcpVariant } from './ucp-product.ts';

export interface AskedCompatibility {
  /** The answers of relations and of fit, as JSON. */
  readonly related: Uint8Array | undefined;
  readonly fit: Uint8Array | undefined;
  readonly unknown: readonly string[];
}

/** Makes the `compatibility` member of an answer, which belongs to the compatibility extension. */
export async function describeCompatibility(
  reading: ChannelReading,
  { related, fit, unknown }: AskedCompatibility,
) {
  const shown = related === undefined ? [] : await describeRelated(reading, related);
  const judged = fit && describeFit(fit, unknown);
  return { json: shareText(JSON.stringify({ related: shown, ...(judged && { fit: judged }) })) };
}

async function describeRelated(reading: ChannelReading, answer: Uint8Array) {
  const listed = readRelated(answer);
  const ids = [
    ...new Set(listed.flatMap(({ searchResult }) => searchResult.map((result) => result.identifier))),
  ];
  const { groups } = await resolve(reading, ids.slice(0, MEMBERS));
  const byId = new Map(
    groups.flatMap(({ id, variants }) => variants.map((variant) => [variant.id, { id, variant }])),
  );
  return listed.flatMap(({ tag, id: relationId, name, searchResult }) => {
    const kind = reading.definition.relations.find(
      (relation) => relation.tag === tag || relation.id === relationId,
    );
    // Products that this channel does not have are not named.
    const products = searchResult.flatMap(({ identifier }) => {
      const product = byId.get(identifier);
      return product === undefined ? [] : [describeVariant(product.id, product.variant)];
    });
    return products.length === 0 ? [] : [{ relation: kind?.as ?? 'accessory', name, products }];
  });
}

const describeVariant = (id: string, { id: variant, title, url, price, media }: UcpVariant) => ({
  id,
  variant,
  title,
  price,
  ...(url !== undefined && { url }),
  ...(media && { media: media.slice(0, 1) }),
});

function describeFit(answer: Uint8Array, unknown: readonly string[]) {
  const { verdict, pairs, receipt } = JSON.parse(Buffer.from(answer).toString()) as FitAnswer;
  return {
    verdict: unknown.length > 0 && verdict !== 'does_not_fit' ? 'unknown' : verdict,
    pairs: pairs.map(({ source, target, relation, verdict: ofPair, missing }) => ({
      source,
      target,
      relation: relation.name,
      verdict: ofPair,
      ...(missing.length > 0 && { missing }),
    })),
    ...(unknown.length > 0 && { unknown }),
    receipt: receipt.hash,
  };
}
