import type { RelatedReason, RelationExplanation } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { sayMatched } from '../rules/filters.ts';
import { sayTerm } from '../rules/fit.ts';
import {
  type Gap,
  listExplained,
  listMissing,
  type Pair,
  readSide,
  sayMatch,
  sayNeed,
  type Verdict,
} from '../rules/verdicts.ts';
import { Icon } from './button.tsx';

/** Explains how a pair of products stands in one relation, condition by condition. */
export function Explanation({ found, pair }: { found: RelationExplanation; pair: Pair }) {
  const { related, matchType, source, target, match, listed } = found;
  const isSecondWay = matchType === 'SECOND_WAY';
  return (
    <div className="stack" aria-live="polite">
      <Outcome found={found} />
      {!related && <Missing missing={listMissing(found, pair)} />}
      {listed && (
        <p>
          {rich('Listed by {by}, at position {position}.', {
            by: <span className="mono">{listed.by}</span>,
            position: listed.position,
          })}
        </p>
      )}
      {listed === null && <p>{t('Neither of them lists the other one.')}</p>}
      <Verdicts title={isSecondWay ? t('Result') : t('Requested product')} list={readSide(source)} />
      <Verdicts title={isSecondWay ? t('Requested product') : t('Result')} list={readSide(target)} />
      <Verdicts
        title={t('Match')}
        list={listExplained(match).map((one) => ({
          words: sayMatched(
            sayTerm(one.target, one.targetTerm),
            one.operator,
            sayTerm(one.source, one.sourceTerm),
          ),
          holds: one.holds,
          values: one.say,
        }))}
      />
    </div>
  );
}

const Outcome = ({ found: { related, rank, excluded, matchType } }: { found: RelationExplanation }) => (
  <p className={related ? 'note good' : 'note warn'}>
    <strong>
      {!related && t('It is not a result')}
      {related && (rank ? t('It is a result, number {rank}', { rank }) : t('It is a result'))}
      {matchType === 'SECOND_WAY' && t(', the other way round')}
      {excluded === 'same product' && t(': it is the same product')}
      {excluded === 'same group' && t(': it is the same group')}
    </strong>
  </p>
);

function Missing({ missing }: { missing: readonly Gap[] }) {
  if (missing.length === 0) return null;
  return (
    <div>
      <h3>{t('What would have to change')}</h3>
      <ul className="stack small">
        {missing.map(({ or, ...gap }) => (
          <li key={`${gap.identifier} ${gap.needs}`}>
            {sayGap(gap)}
            {or && (
              <div>
                {t('or')} {sayGap(or)}
              </div>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function sayGap({ identifier, needs, has }: Gap): ReactNode {
  const words = {
    identifier: <span className="mono">{identifier}</span>,
    needs: <strong>{needs}</strong>,
    has: <span>{has}</span>,
  };
  return has === ''
    ? rich('{identifier}: {needs}; it has no value.', words)
    : rich('{identifier}: {needs}; it is {has}.', words);
}

function Verdicts({ title, list }: { title: string; list: readonly Verdict[] }) {
  if (list.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <VerdictList list={list} />
    </div>
  );
}

const VerdictList = ({ list }: { list: readonly Verdict[] }) => (
  <ul className="verdicts small">
    {list.map(({ words, holds, values, inner }, at) => (
      <li key={at}>
        <Holds of={holds} />
        <div>
          {words}
          {inner ? <VerdictList list={inner} /> : <div className="soft mono">{values || t('no value')}</div>}
        </div>
      </li>
    ))}
  </ul>
);

const Holds = ({ of: holds }: { of: boolean }) => (
  <span className={holds ? 'holds' : 'fails'}>
    <Icon name={holds ? 'check' : 'cross'} />
    <span className="hidden">{holds ? t('holds') : t('does not hold')}</span>
  </span>
);

/** Explains why a product is a result, by match: `Module size and Maximum memory: 16 GB ≤ 192 GB`; and what a match that fails needs. */
export const Reason = ({ reason }: { reason: Pick<RelatedReason, 'match'> }) => (
  <>
    {listExplained(reason.match).map((match, at) => {
      const words = match.holds ? sayMatch(match) : sayNeed(match);
      return (
        <span key={at} className="reason small" title={words}>
          <Holds of={match.holds} />
          <span className="soft">{words}</span>
        </span>
      );
    })}
  </>
);
