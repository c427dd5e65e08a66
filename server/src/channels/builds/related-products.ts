/**
 * The related products of a row: products that the channel's relations name, that are in its file, and that its format
 * can name.
 */
import type { OutputFormat, RelatedAs, RelatedProducts } from '../../formats/output/output.ts';
import type { RelatedList, RelatedSearch } from '../../relations/matching/matching.ts';
import type { CatalogPass } from '../../relations/relation-store/relation-store.ts';
import type { ChannelRelation } from '../channel-definitions/channel-definitions.ts';
import type { FieldProblem } from '../field-mapping/field-mapping.ts';
import type { HashedTexts } from './hashed-texts.ts';

/** The kind and relation of the identifiers at one position of an answer. */
export type PlannedRelation = RelatedSearch & { readonly as: RelatedAs };

/** @returns the relations that answer now, with a warning for each relation of the channel that does not */
export function planRelated(pass: CatalogPass, relations: readonly ChannelRelation[], rules: OutputFormat) {
  const planned = relations.map((relation) => ({ relation, found: findRelations(pass, relation) }));
  const searches = planned.flatMap(({ relation: { as, limit }, found }) =>
    found.flatMap((answering): PlannedRelation[] => {
      const limited = { relation: answering, as, limit: Math.min(limit, rules.mostRelated ?? limit) };
      const forward: PlannedRelation = { ...limited, direction: 'from' };
      return rules.reversed?.has(as) ? [forward, { ...limited, direction: 'to' }] : [forward];
    }),
  );
  const silent = planned
    .filter(({ found }) => found.length === 0)
    .map(({ relation }) => describeRelation(relation));
  const why = 'answers now: it is disabled, not built, misconfigured or deleted';
  return { searches, warnings: silent.map((name) => `no ${name} ${why}`) };
}

const findRelations = (pass: CatalogPass, { tag, id }: ChannelRelation) =>
  pass.relations.filter((relation) =>
    tag === undefined ? relation.id === id : relation.definition.tag === tag,
  );

const describeRelation = ({ tag, id }: ChannelRelation) =>
  tag === undefined ? `relation ${id}` : `relation with the tag ${JSON.stringify(tag)}`;

/** @returns the related products that the format accepts, and notes about the others */
export function chooseRelated(
  relations: readonly PlannedRelation[],
  found: readonly RelatedList[],
  { mostRelated = Number.POSITIVE_INFINITY, relatedIdentifier, type }: OutputFormat,
): { related: RelatedProducts[]; notes: FieldProblem[] } {
  const related: RelatedProducts[] = [];
  const refused: string[] = [];
  let left = mostRelated;
  for (const [index, { as, direction }] of relations.entries()) {
    const { identifiers: all = [], quantities } = found[index] ?? {};
    const fit =
      relatedIdentifier === undefined ? all : all.filter((identifier) => relatedIdentifier.test(identifier));
    if (fit.length < all.length) refused.push(...all.filter((identifier) => !fit.includes(identifier)));
    const identifiers = fit.slice(0, left);
    left -= identifiers.length;
    if (identifiers.length > 0)
      related.push({ as, identifiers, ...(quantities && { quantities }), isReversed: direction === 'to' });
  }
  if (refused.length === 0) return { related, notes: [] };
  const message = `related products were left out because ${type} cannot write their identifiers: ${refused.slice(0, 10).join(' ')}`;
  return { related, notes: [{ field: 'related', code: 'related_left_out', message }] };
}

/** @returns separately the related products that are in the file, and the ones that are not */
export function partRelated(lists: readonly RelatedList[], absent: HashedTexts) {
  if (absent.size === 0) return { present: lists, absent: [] };
  const isAbsent = (identifier: string) => absent.has(identifier);
  return {
    present: lists.map((list) => ({
      ...list,
      identifiers: list.identifiers.filter((identifier) => !isAbsent(identifier)),
    })),
    absent: lists.flatMap(({ identifiers }) => identifiers.filter(isAbsent)),
  };
}
