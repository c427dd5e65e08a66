import type { Mapping } from '../mapping-schemas.ts';
import type { SuggestionReason } from './suggestion-reasons.ts';

interface Suggested {
  readonly mapping: Partial<Mapping>;
  readonly reasons: readonly SuggestionReason[];
}

/** Columns of links: Magento's related, upsell and cross-sell products, WooCommerce's, and BMEcat's references. */
const NAMES = /^(related|upsell|crosssell)_skus$|^(upsells|cross-sells)$|^REFERENCE\./i;

/** Guesses a mapping of links: the identifier of the products, and the columns that name others. */
export function suggestLinks(
  columns: readonly string[],
  { mapping: { identifier }, reasons }: Suggested,
): Suggested {
  const targets = columns.filter((name) => NAMES.test(name));
  const [first] = targets;
  const isList = targets.some((name) => !name.startsWith('REFERENCE.'));
  return {
    mapping: {
      ...(identifier !== undefined && { source: identifier }),
      ...(first !== undefined && { targets: targets.length === 1 ? first : targets }),
      ...(first !== undefined && isList && { separator: ',' }),
    },
    reasons: [
      ...reasons
        .filter(({ field }) => field === 'identifier')
        .map((reason) => ({ ...reason, field: 'source' as const })),
      ...targets.map((column) => ({
        ...{ field: 'targets' as const, column, by: 'name' as const, confidence: 'medium' as const },
        reason: 'names other products; leave out those that belong to another relation',
      })),
    ],
  };
}
