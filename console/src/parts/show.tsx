import type { Task } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { formatAgo, formatMoment, formatPercent, safeUrl } from '../rules/format.ts';
import { CopyButton } from './button.tsx';

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

/** Names with their values. */
export function Pairs({ pairs }: { pairs: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="pairs">
      {pairs.map(([name, value]) => (
        <div key={name} className="pair">
          <dt>{name}</dt>
          <dd className="break">{value}</dd>
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
