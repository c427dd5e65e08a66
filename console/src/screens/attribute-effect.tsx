import type { Attribute } from '@relata/client';

/** What a change would do comes here with `POST …/ontology/preview`. */
export function AttributeEffect(_: { before: Attribute; after: Attribute }) {
  return null;
}
