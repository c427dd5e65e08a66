import type { RelationExplanation } from '@relata/client';
import { type FormEvent, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
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
  return (
    <div className="stack" aria-live="polite">
      <p className={related ? 'note good' : 'note warn'}>
        <strong>
          {related ? `It is a result${rank ? `, number ${rank}` : ''}` : 'It is not a result'}
          {matchType === 'SECOND_WAY' && ', the other way round'}
          {excluded && `: it is the ${excluded}`}
        </strong>
      </p>
      {listed && (
        <p>
          Listed by <span className="mono">{listed.by}</span>, at position {listed.position}.
        </p>
      )}
      {listed === null && <p>Neither of them lists the other one.</p>}
      <Verdicts
        title={matchType === 'SECOND_WAY' ? 'Result' : 'Requested product'}
        list={source.conditions.map(({ condition, holds, values }) => ({
          words: describeFilter(condition),
          holds,
          values: values.join(', '),
        }))}
      />
      <Verdicts
        title={matchType === 'SECOND_WAY' ? 'Requested product' : 'Result'}
        list={target.conditions.map(({ condition, holds, values }) => ({
          words: describeFilter(condition),
          holds,
          values: values.join(', '),
        }))}
      />
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
  readonly values: string;
}

function Verdicts({ title, list }: { title: string; list: readonly Verdict[] }) {
  if (list.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="verdicts small">
        {list.map(({ words, holds, values }) => (
          <li key={words}>
            <span className={holds ? 'holds' : 'fails'}>
              <Icon name={holds ? 'check' : 'cross'} />
              <span className="hidden">{holds ? 'holds' : 'does not hold'}</span>
            </span>
            <span>
              {words}
              <div className="soft mono">{values || 'no value'}</div>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
