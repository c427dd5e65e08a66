import type { Task } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { formatAgo, formatMoment, formatPercent, safeUrl } from '../rules/format.ts';
import { useLookedUp } from '../state/catalog.ts';
import { projectLink } from '../state/route.ts';
import { Button, CopyButton, IconButton } from './button.tsx';

/** An instant in everyday words, with the exact time in its tooltip. */
export function Ago({ instant }: { instant: number | null | undefined }) {
  if (!instant) return <span className="soft">{t('never')}</span>;
  return (
    <time dateTime={new Date(instant).toISOString()} title={formatMoment(instant)} className="nowrap">
      {formatAgo(instant)}
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

export const Code = ({ text, label }: { text: string; label: string }) => (
  <div className="code">
    <pre tabIndex={0} role="group" aria-label={label}>
      {text}
    </pre>
    <CopyButton text={text} label={t('Copy: {label}', { label })} />
  </div>
);

interface RemovableShape<One> {
  list: readonly One[];
  /** The text for an empty list. */
  none: string;
  label(entry: One): string;
  onRemove(entry: One): void;
  children(entry: One): ReactNode;
}

/** A few items, each with a cross to remove it. */
export function Removable<One extends { readonly id: string | number }>({
  list,
  none,
  label,
  onRemove,
  children,
}: RemovableShape<One>) {
  if (list.length === 0) return <p className="soft">{none}</p>;
  return (
    <ul className="stack">
      {list.map((entry) => (
        <li key={entry.id} className="row spread">
          <span>{children(entry)}</span>
          <IconButton icon="cross" label={label(entry)} onClick={() => onRemove(entry)} />
        </li>
      ))}
    </ul>
  );
}

/** @returns the first items of a list, or all on request, and the button that requests them */
export function useMore<One>(list: readonly One[], first: number, words: (count: number) => string) {
  const [isAll, setAll] = useState(false);
  const more = !isAll && list.length > first && (
    <div className="row">
      <Button onClick={() => setAll(true)}>{words(list.length)}</Button>
    </div>
  );
  return [isAll ? list : list.slice(0, first), more] as const;
}

export const Tags = ({ list }: { list: readonly string[] }) =>
  list.map((tag) => (
    <span key={tag} className="tag">
      {tag}
    </span>
  ));

/** Items in a sentence, separated by commas. */
export function Joined<One>({ list, children }: { list: readonly One[]; children(entry: One): ReactNode }) {
  return list.map((entry, index) => (
    <span key={index}>
      {index > 0 && ', '}
      {children(entry)}
    </span>
  ));
}

export type Pair = readonly [name: string, value: ReactNode, look?: string];

interface PairsShape {
  pairs: readonly (Pair | false)[];
  label?: string;
  look?: string;
}

/** Names with their values; entries that are false are left out. */
export function Pairs({ pairs, label, look = '' }: PairsShape) {
  const shownPairs = pairs.filter((pair) => pair !== false);
  return (
    <dl className={`pairs ${look}`} aria-label={label}>
      {shownPairs.map(([name, value, cell = 'break']) => (
        <div key={name} className="pair">
          <dt>{name}</dt>
          <dd className={cell}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export const MappingJson = ({ mapping }: { mapping: object }) => (
  <details>
    <summary>{t('Mapping')}</summary>
    <Code label={t('The mapping as JSON')} text={JSON.stringify(mapping, null, 2)} />
  </details>
);

/** A product's picture, loaded from wherever the shop keeps it, without a referrer. */
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

/** An address from product data: a link if it is http(s), else text. */
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
  /** The measure of the bar, for screen readers. */
  readonly label: string;
}

/** Counts, each with a bar. */
export const Bars = ({ list }: { list: readonly Bar[] }) => (
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

export const Figure = ({ label, value, more }: { label: string; value: string; more?: string }) => (
  <div className="figure">
    <dt>{label}</dt>
    <dd>
      {value} {more && <small>{more}</small>}
    </dd>
  </div>
);

/** A column's title, its cell for a row, and the classes of its cells; false for a column left out. */
export type Column<Row> =
  | readonly [title: ReactNode, cell: (row: Row, index: number) => ReactNode, className?: string]
  | false
  | undefined;

interface TableShape<Row> {
  rows: readonly Row[];
  keyOf(row: Row, index: number): string | number;
  columns: readonly Column<Row>[];
  isSmall?: boolean;
  /** Names a table that has no link or button to focus, so that the table itself takes focus. */
  label?: string;
  /** Whether its height is limited to a part of the screen. */
  isShort?: boolean;
  children?: ReactNode;
}

/** A table of rows. It has no head if no column has a title. */
export function Table<Row>({
  rows,
  keyOf,
  columns,
  isSmall = false,
  label,
  isShort = false,
  children,
}: TableShape<Row>) {
  const shown = columns.filter((column) => column !== false && column !== undefined);
  return (
    <Box {...{ label, isShort }}>
      <table className={isSmall ? 'table small' : 'table'}>
        {shown.some(([title]) => title) && (
          <thead>
            <tr>
              {shown.map(([title, , className], index) => (
                <th key={index} className={className?.match(/wide-only|number/g)?.join(' ')}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {shown.map(([, cell, className], column) => (
                <td key={column} className={className}>
                  {cell(row, index)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </Box>
  );
}

type BoxShape = Pick<TableShape<unknown>, 'label' | 'isShort' | 'children'>;

/** A box that scrolls; one with a name takes keyboard focus. */
function Box({ label, isShort, children }: BoxShape) {
  if (label === undefined) return <div className="table-box">{children}</div>;
  return (
    <section className={isShort ? 'table-box short' : 'table-box'} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** The button below a list that loads page by page, newest first. */
export function Older({ of }: { of: Paged }) {
  if (!of.hasNextPage) return null;
  return (
    <div className="grid-foot">
      <Button busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {t('Show older ones')}
      </Button>
    </div>
  );
}

interface ChipShape {
  product: { readonly identifier: string; readonly name?: string; readonly thumbnail?: string };
  /** A note after the identifier. */
  note?: string;
  /** Whether the product has no page yet. */
  isPlanned?: boolean;
  children?: ReactNode;
}

/** A product as people know it: picture, name and identifier, with a link to its page. */
export function ProductChip({
  product: { identifier, name, thumbnail },
  note,
  isPlanned,
  children,
}: ChipShape) {
  const content = (
    <>
      <Thumb url={thumbnail} />
      <span>
        <span className="cut block">{name}</span>
        <span className="mono soft">
          {identifier}
          {note}
        </span>
        {children}
      </span>
    </>
  );
  if (isPlanned) return <div className="product-chip">{content}</div>;
  return (
    <a className="product-chip" href={projectLink('products', identifier)}>
      {content}
    </a>
  );
}

/** A product before more than its identifier has been loaded. */
export function FoundChip({ identifier }: { identifier: string }) {
  const product = useLookedUp(identifier);
  const images = product?.images ?? [];
  const thumbnail = (images.find(({ type }) => type === 'SMALL' || type === 'THUMB') ?? images[0])?.url;
  const name = product?.name ?? '';
  return <ProductChip product={{ identifier, name, ...(thumbnail && { thumbnail }) }} />;
}

/** A product by name, after its quantity; the identifier follows in grey. */
export function ProductLink({ identifier, quantity }: { identifier: string; quantity?: number }) {
  const name = useLookedUp(identifier)?.name;
  return (
    <a href={projectLink('products', identifier)}>
      {quantity && `${quantity} × `}
      {name && `${name} `}
      <span className={name ? 'mono soft small' : 'mono'}>{identifier}</span>
    </a>
  );
}

interface LinksShape {
  identifiers: readonly string[];
  hasMore: boolean;
}

/** Some products, and an ellipsis if there are more. */
export const ProductLinks = ({ identifiers, hasMore }: LinksShape) => (
  <>
    <Joined list={identifiers}>{(identifier) => <ProductLink identifier={identifier} />}</Joined>
    {hasMore && ' …'}
  </>
);

/** Excel reads a file as UTF-8 only with a byte order mark. */
const MARK = '\ufeff';

export const saveTable = (name: string, lines: readonly BlobPart[]): void =>
  saveFile(name, [MARK, ...lines], 'text/csv');

/** Offers a file for saving; its content is never opened as a page. */
export function saveFile(name: string, parts: readonly BlobPart[], type: string): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
