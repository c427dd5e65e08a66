import type { Task } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { formatAgo, formatMoment, formatPercent, safeUrl } from '../rules/format.ts';
import { Button, CopyButton, IconButton } from './button.tsx';

/** An instant as people say it; the exact one on pointing. */
export function Ago({ at }: { at: number | null | undefined }) {
  if (!at) return <span className="soft">{t('never')}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={formatMoment(at)} className="nowrap">
      {formatAgo(at)}
    </time>
  );
}

const listLooks = () =>
  ({
    PENDING: ['', t('waiting')],
    RUNNING: ['busy', t('running')],
    FINISHED: ['good', t('finished')],
    FAILED: ['bad', t('failed')],
    CANCELLED: ['warn', t('cancelled')],
  }) as const;

export function TaskStatus({ task }: { task: Pick<Task, 'taskStatus'> }) {
  const [look, words] = listLooks()[task.taskStatus];
  return <span className={`badge ${look}`}>{words}</span>;
}

export function Meter({ share, label, look = '' }: { share: number; label: string; look?: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  return (
    <span
      className={`meter ${look}`}
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      title={`${label}: ${formatPercent(share)}`}
    >
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} label={t('Copy: {label}', { label })} />
    </div>
  );
}

interface RemovableShape<One> {
  list: readonly One[];
  /** What the cross does. */
  label(one: One): string;
  onRemove(one: One): void;
  children(one: One): ReactNode;
}

/** A few things, each with a cross. */
export function Removable<One extends { readonly id: string | number }>({
  list,
  label,
  onRemove,
  children,
}: RemovableShape<One>) {
  return (
    <ul className="stack">
      {list.map((one) => (
        <li key={one.id} className="row spread">
          <span>{children(one)}</span>
          <IconButton icon="cross" label={label(one)} onClick={() => onRemove(one)} />
        </li>
      ))}
    </ul>
  );
}

/** @returns the first of a list, or all of it on request, and the button for that */
export function useMore<One>(list: readonly One[], first: number, words: (count: number) => string) {
  const [isAll, setAll] = useState(false);
  const more = !isAll && list.length > first && (
    <div className="row">
      <Button onClick={() => setAll(true)}>{words(list.length)}</Button>
    </div>
  );
  return [isAll ? list : list.slice(0, first), more] as const;
}

/** Things in a sentence, one after the other. */
export function Joined<One>({ list, children }: { list: readonly One[]; children(one: One): ReactNode }) {
  return list.map((one, at) => (
    <span key={at}>
      {at > 0 && ', '}
      {children(one)}
    </span>
  ));
}

export type Pair = readonly [name: string, value: ReactNode, look?: string];

/** Names with their values; false: not there. */
export function Pairs({
  pairs,
  label,
  look = '',
}: {
  pairs: readonly (Pair | false)[];
  label?: string;
  look?: string;
}) {
  const there = pairs.filter((pair) => pair !== false);
  return (
    <dl className={`pairs ${look}`} aria-label={label}>
      {there.map(([name, value, cell = 'break']) => (
        <div key={name} className="pair">
          <dt>{name}</dt>
          <dd className={cell}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function MappingJson({ mapping }: { mapping: object }) {
  return (
    <details>
      <summary>{t('Mapping')}</summary>
      <Code label={t('The mapping as JSON')} text={JSON.stringify(mapping, null, 2)} />
    </details>
  );
}

/** A product's picture from wherever the shop keeps it: asked for without saying from where. */
export function Thumb({ url, name }: { url: string | undefined; name?: string }) {
  const [failed, setFailed] = useState<string>();
  const safe = safeUrl(url);
  if (safe === undefined || failed === safe) return <span className="thumb" aria-hidden="true" />;
  return (
    <img
      className="thumb"
      src={safe}
      alt={name ?? ''}
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      onError={() => setFailed(safe)}
    />
  );
}

/** An address that comes with the data: a link when it is http(s), else its text. */
export function OutLink({ url }: { url: string }) {
  const safe = safeUrl(url);
  if (safe === undefined) return <span>{url}</span>;
  return (
    <a href={safe} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  );
}

interface Bar {
  readonly key: string;
  readonly words: ReactNode;
  readonly count: ReactNode;
  readonly share: number;
  /** What the bar measures, for those who hear it. */
  readonly label: string;
}

/** Counts with a bar each. */
export function Bars({ list }: { list: readonly Bar[] }) {
  return (
    <ul className="bars">
      {list.map(({ key, words, count, share, label }) => (
        <li key={key}>
          <span className="cut">{words}</span>
          <span className="soft">{count}</span>
          <Meter share={share} label={label} />
        </li>
      ))}
    </ul>
  );
}

export function Figure({ label, value, more }: { label: string; value: string; more?: string }) {
  return (
    <div className="figure">
      <dt>{label}</dt>
      <dd>
        {value} {more && <small>{more}</small>}
      </dd>
    </div>
  );
}
