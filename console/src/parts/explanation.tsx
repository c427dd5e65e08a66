import type { RelatedReason, RelationExplanation } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { describeMatched } from '../rules/filters.ts';
import { describeTerm } from '../rules/fit.ts';
import {
  describeNeed,
  type Gap,
  listExplained,
  listMissing,
  type Pair,
  readSide,
  sayMatch,
  type Verdict,
} from '../rules/verdicts.ts';
import { Icon } from './button.tsx';

/** Explains whether one relation relates a pair of products, condition by condition. */
export function Explanation({ explanation, pair }: { explanation: RelationExplanation; pair: Pair }) {
  const { related, matchType, source, target, match, listed } = explanation;
  const isSecondWay = matchType === 'SECOND_WAY';
  return (
    <div className="stack" aria-live="polite">
      <Outcome explanation={explanation} />
      {!related && <Missing missing={listMissing(explanation, pair)} />}
      {listed && (
        <p>
          {rich('Listed by {by}, at position {position}.', {
            by: <span className="mono">{listed.by}</span>,
            position: listed.position,
          })}
        </p>
      )}
      {listed === null && <p>{t('Neither product lists the other.')}</p>}
      <Verdicts title={isSecondWay ? t('Result') : t('Requested product')} list={readSide(source)} />
      <Verdicts title={isSecondWay ? t('Requested product') : t('Result')} list={readSide(target)} />
      <Verdicts
        title={t('Match')}
        list={listExplained(match).map((explained) => ({
          words: describeMatched(
            describeTerm(explained.target, explained.targetTerm),
            explained.operator,
            describeTerm(explained.source, explained.sourceTerm),
          ),
          holds: explained.holds,
          values: explained.say,
        }))}
      />
    </div>
  );
}

const Outcome = ({
  explanation: { related, rank, excluded, matchType },
}: {
  explanation: RelationExplanation;
}) => (
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
            {describeGap(gap)}
            {or && (
              <div>
                {t('or')} {describeGap(or)}
              </div>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function describeGap({ identifier, needs, has }: Gap): ReactNode {
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
    {list.map(({ words, holds, values, inner }, index) => (
      <li key={index}>
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

/**
 * Explains why a product is a result, by match: `Module size and Maximum memory: 16 GB ≤ 192 GB`. For a match
 * that fails, it also says what the match needs.
 */
export const Reason = ({ reason }: { reason: Pick<RelatedReason, 'match'> }) => (
  <>
    {listExplained(reason.match).map((match, index) => {
      const words = match.holds ? sayMatch(match) : describeNeed(match);
      return (
        <span key={index} className="reason small" title={words}>
          <Holds of={match.holds} />
          <span className="soft">{words}</span>
        </span>
      );
    })}
  </>
);
