import { useState } from 'react';
import type { Extent } from '../rules/sampled.ts';
import { type AskingOfProject, type Key, useOfProject } from './answers.ts';

/**
 * Counts of whole catalogs. The service counts a sample of a large catalog unless a request asks for all
 * products.
 */

/**
 * Catalogs of up to this many products are counted completely, within seconds. Larger ones are counted
 * completely on request.
 */
const COUNTED_WHOLE = 250_000;

interface SampledAnswer {
  readonly products: number;
  readonly sampled: boolean;
  readonly sampledProducts: number;
}

export interface SampledQuestion<Answer> {
  readonly key: Key;
  ask(of: AskingOfProject, sample: 'even' | 'all'): Promise<Answer>;
  readonly isEnabled: boolean;
  readonly staleMs: number;
}

/** Counts of a sample at first, and of all products once these are counted. */
export function useCounts<Answer extends SampledAnswer>(question: SampledQuestion<Answer>) {
  const { key, ask, isEnabled, staleMs } = question;
  const [isWanted, setWanted] = useState(false);
  const options = { staleTime: staleMs };
  const sample = useOfProject(key, (of) => ask(of, 'even'), { enabled: isEnabled, ...options });
  const isSmall = (sample.data?.products ?? 0) <= COUNTED_WHOLE;
  const isSampled = isEnabled && sample.data?.sampled === true;
  const isWhole = isSampled && (isWanted || isSmall);
  const all = useOfProject([...key, 'all'], (of) => ask(of, 'all'), { enabled: isWhole, ...options });
  const data = (isSampled ? all.data : undefined) ?? sample.data;
  return {
    data,
    extent: extentOf(data),
    isCounting: sample.isLoading || all.isLoading,
    error: sample.error ?? all.error,
    /** Requests the count of all products. Undefined if that is not necessary. */
    countAll: isSampled && !isWhole ? () => setWanted(true) : undefined,
  };
}

export function extentOf(answer: SampledAnswer | undefined): Extent {
  if (answer === undefined) return { looked: 0, of: 0 };
  const { products, sampled, sampledProducts } = answer;
  return { looked: sampled ? sampledProducts : products, of: products };
}
