import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { Button } from './button.tsx';

/** What stands above a column, what it shows of a row, and the classes of its cells; false for a column that is not there. */
export type Column<Row> =
  | readonly [title: ReactNode, cell: (row: Row, at: number) => ReactNode, className?: string]
  | false
  | undefined;

interface Shape<Row> {
  rows: readonly Row[];
  keyOf(row: Row, at: number): string | number;
  columns: readonly Column<Row>[];
  isSmall?: boolean;
  /** Of a table without a link or button that takes the keyboard there: it is named, and takes it itself. */
  label?: string;
  /** Not higher than a part of the screen. */
  isShort?: boolean;
  /** What stands below the rows. */
  children?: ReactNode;
}

/** Rows of a kind. A table in which no column has a title has no head. */
export function Table<Row>({
  rows,
  keyOf,
  columns,
  isSmall = false,
  label,
  isShort = false,
  children,
}: Shape<Row>) {
  const shown = columns.filter((column) => column !== false && column !== undefined);
  return (
    <Box {...{ label, isShort }}>
      <table className={isSmall ? 'table small' : 'table'}>
        {shown.some(([title]) => title) && (
          <thead>
            <tr>
              {shown.map(([title, , className], at) => (
                <th key={at} className={className?.match(/wide-only|number/g)?.join(' ')}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf(row, at)}>
              {shown.map(([, cell, className], column) => (
                <td key={column} className={className}>
                  {cell(row, at)}
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

function Box({
  label,
  isShort,
  children,
}: {
  label?: string | undefined;
  isShort: boolean;
  children: ReactNode;
}) {
  if (label === undefined) return <div className="table-box">{children}</div>;
  return (
    <TableBox label={label} isShort={isShort}>
      {children}
    </TableBox>
  );
}

/** A table that scrolls, and may have no link or button that takes the keyboard there. */
export function TableBox({
  label,
  isShort,
  children,
}: {
  label: string;
  isShort?: boolean;
  children: ReactNode;
}) {
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

/** Below a list that comes page by page, the newest first. */
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
