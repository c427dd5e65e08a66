import type { RelationExplanation } from '@relata/client';
import { type FormEvent, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { describeFilter, nameOperator } from '../state/filters.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';

/** Why one product is a result of another, or is not. */
export function RelationExplain({ relationId }: { relationId: number }) {
  const relata = useRelata();
  const project = useProject();
  const [found, setFound] = useState<RelationExplanation>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const explain = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const pair = { source: String(given.get('source')).trim(), target: String(given.get('target')).trim() };
    setBusy(true);
    setError(undefined);
    await relata.relations
      .explain({ projectId: project.id, relationId }, pair)
      .then(setFound, (reason: unknown) => {
        setFound(undefined);
        setError(reason);
      });
    setBusy(false);
  };
  return (
    <Card title="Why, or why not?">
      <form className="stack" onSubmit={(event) => void explain(event)}>
        <div className="fields">
          <TextField label="Requested product" name="source" required placeholder="Identifier" />
          <TextField label="Result" name="target" required placeholder="Identifier" />
        </div>
        <div className="row">
          <Button type="submit" busy={isBusy}>
            Explain
          </Button>
        </div>
      </form>
      <ErrorNote error={error} />
      {found && <Explanation found={found} />}
    </Card>
  );
}

function Explanation({ found }: { found: RelationExplanation }) {
  const { related, rank, excluded, matchType, source, target, match, listed } = found;
  const isSecondWay = matchType === 'SECOND_WAY';
  return (
    <div className="stack" aria-live="polite">
      <p className={related ? 'note good' : 'note warn'}>
        <strong>
          {related ? `It is a result${rank ? `, number ${rank}` : ''}` : 'It is not a result'}
          {isSecondWay && ', the other way round'}
          {excluded && `: it is the ${excluded}`}
        </strong>
      </p>
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

interface Verdict {
  readonly words: string;
  readonly holds: boolean;
  /** Of a condition; a group has others in it. */
  readonly values?: string;
  readonly inner?: readonly Verdict[];
}

type Side = RelationExplanation['source'];
type Explained = { readonly holds: boolean } & (
  | Side['conditions'][number]
  | { readonly all: readonly Explained[] }
  | { readonly any: readonly Explained[] }
  | { readonly not: Explained }
);

/** @returns the conditions of a side, in their groups where these are nested */
function readSide({ filter, conditions }: Side): readonly Verdict[] {
  return filter === undefined ? conditions.map(readExplained) : [readExplained(filter as Explained)];
}

function readExplained(explained: Explained): Verdict {
  const { holds } = explained;
  if ('condition' in explained)
    return { holds, words: describeFilter(explained.condition), values: explained.values.join(', ') };
  if ('all' in explained) return { holds, words: 'all of these', inner: explained.all.map(readExplained) };
  if ('any' in explained) return { holds, words: 'one of these', inner: explained.any.map(readExplained) };
  return { holds, words: 'not this', inner: [readExplained(explained.not)] };
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
