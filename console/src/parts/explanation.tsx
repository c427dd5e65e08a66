import type { RelationExplanation } from '@relata/client';
import { nameOperator } from '../rules/filters.ts';
import { type Lack, listLacks, type Pair, readSide, type Verdict } from '../rules/verdicts.ts';
import { Icon } from './icon.tsx';

/** How a pair of products stands in one relation, condition by condition. */
export function Explanation({ found, pair }: { found: RelationExplanation; pair: Pair }) {
  const { related, matchType, source, target, match, listed } = found;
  const isSecondWay = matchType === 'SECOND_WAY';
  return (
    <div className="stack" aria-live="polite">
      <Outcome found={found} />
      {!related && <Lacks lacks={listLacks(found, pair)} />}
      {listed && (
        <p>
          Listed by <span className="mono">{listed.by}</span>, at position {listed.position}.
        </p>
      )}
      {listed === null && <p>Neither of them lists the other one.</p>}
      <Verdicts title={isSecondWay ? 'Result' : 'Requested product'} list={readSide(source)} />
      <Verdicts title={isSecondWay ? 'Requested product' : 'Result'} list={readSide(target)} />
      <Verdicts
        title="Match"
        list={match.map((one) => ({
          words: `${one.target} ${nameOperator(one.operator)} ${one.source}`,
          holds: one.holds,
          values: `${one.targetValues.join(', ') || 'no value'} ↔ ${one.sourceValues.join(', ') || 'no value'}`,
        }))}
      />
    </div>
  );
}

function Outcome({ found: { related, rank, excluded, matchType } }: { found: RelationExplanation }) {
  return (
    <p className={related ? 'note good' : 'note warn'}>
      <strong>
        {related ? `It is a result${rank ? `, number ${rank}` : ''}` : 'It is not a result'}
        {matchType === 'SECOND_WAY' && ', the other way round'}
        {excluded && `: it is the ${excluded}`}
      </strong>
    </p>
  );
}

function Lacks({ lacks }: { lacks: readonly Lack[] }) {
  if (lacks.length === 0) return null;
  return (
    <div>
      <h3>What would have to change</h3>
      <ul className="stack small">
        {lacks.map(({ identifier, needs, has }) => (
          <li key={`${identifier} ${needs}`}>
            <span className="mono">{identifier}</span>: <strong>{needs}</strong>. It has {has}.
          </li>
        ))}
      </ul>
    </div>
  );
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

function VerdictList({ list }: { list: readonly Verdict[] }) {
  return (
    <ul className="verdicts small">
      {list.map(({ words, holds, values, inner }, at) => (
        <li key={at}>
          <span className={holds ? 'holds' : 'fails'}>
            <Icon name={holds ? 'check' : 'cross'} />
            <span className="hidden">{holds ? 'holds' : 'does not hold'}</span>
          </span>
          <div>
            {words}
            {inner ? <VerdictList list={inner} /> : <div className="soft mono">{values || 'no value'}</div>}
          </div>
        </li>
      ))}
    </ul>
  );
}
