import { Fragment, type ReactNode } from 'react';
import { presentLanguage } from '../languages/text.ts';

/** @returns the parts as a language lists them: `A, B and C`, `A, B oder C` */
export function joinList(parts: readonly ReactNode[], type: 'conjunction' | 'disjunction'): ReactNode {
  const places = parts.map((_, at) => String(at));
  const list = new Intl.ListFormat(presentLanguage(), { type }).formatToParts(places);
  return list.map(({ type: kind, value }, at) => (
    <Fragment key={at}>{kind === 'element' ? parts[Number(value)] : value}</Fragment>
  ));
}
