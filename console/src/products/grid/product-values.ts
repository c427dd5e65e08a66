import { useMemo } from 'react';
import { useLookedUp } from '../../state/looked-up.ts';
import { type ProductRow, toValues, type Values } from './product-rows.ts';

const NONE = toValues({ facts: [] });

/** The values of a row in sight; nothing is read ahead, so that the length of the list does not count. */
export function useValues({ identifier, lastUpdateTs }: ProductRow, isWanted: boolean): Values | undefined {
  const product = useLookedUp(identifier, { version: lastUpdateTs, isWanted });
  return useMemo(() => (product === null ? NONE : product && toValues(product)), [product]);
}
