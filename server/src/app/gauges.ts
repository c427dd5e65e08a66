/** Metrics about the state of the service, other than requests: docs/operating/monitoring.md, "Metrics". */

import type { STATE } from '../backup/stream/stream.ts';
import type { WatchedGauge } from '../http/server/server.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Readers } from '../storage/postgres/postgres.ts';
import { readNow, type Storage } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { ContinuousBackup } from './continuous-backup.ts';
import type { StoreWatch } from './store-watch.ts';

interface GaugeParts {
  readonly version: string;
  readonly clock: Clock;
  readonly storage: Storage;
  readonly readers: Readers | undefined;
  readonly watch: StoreWatch;
  readonly tasks: Pick<Tasks, 'countWaiting' | 'findOldest'>;
  readonly webhooks: Pick<Webhooks, 'countTroubled'>;
  readonly backup: ContinuousBackup | undefined;
}

/** Gauges are computed when the metrics are read, so that requests do not pay for them. */
export const listGauges = (parts: GaugeParts): WatchedGauge[] => [
  ...listServiceGauges(parts),
  ...listStoreGauges(parts),
  ...listBackupGauges(parts.backup),
];

const listServiceGauges = ({ version, clock, storage, tasks, webhooks }: GaugeParts): WatchedGauge[] => [
  {
    name: 'relata_build_info',
    help: '1, with the version of the program.',
    label: 'version',
    read: () => ({ [version]: 1 }),
  },
  {
    name: 'relata_tasks_waiting',
    help: 'Accepted tasks that wait for their turn.',
    read: () => tasks.countWaiting(),
  },
  {
    name: 'relata_oldest_task_seconds',
    help: 'Age of the oldest task that has not ended, by kind; 0 if there is none.',
    label: 'kind',
    read: async () => {
      const now = clock.now();
      const ages = Object.entries(await tasks.findOldest());
      return Object.fromEntries(
        ages.map(([kind, acceptedAt]) => [
          kind,
          acceptedAt === undefined ? 0 : Math.max(0, now - acceptedAt) / 1000,
        ]),
      );
    },
  },
  {
    name: 'relata_webhook_endpoints',
    help: 'Endpoints whose deliveries fail, and those that were switched off.',
    label: 'state',
    read: () => webhooks.countTroubled(),
  },
  {
    name: 'relata_database_seconds',
    help: 'Duration of the smallest read of the service’s own tables.',
    async read() {
      const begun = performance.now();
      await readNow(storage.database.read, storage.database);
      return (performance.now() - begun) / 1000;
    },
  },
];

/** The gauges that only one of the two stores has. */
function listStoreGauges({ storage, readers, watch }: GaugeParts): WatchedGauge[] {
  const { place, postgres } = storage;
  const gauges: readonly (WatchedGauge | false | undefined)[] = [
    place.kind === 'embedded' && {
      name: 'relata_catalogs_damaged',
      help: 'Catalogs that are damaged or being checked, and not served.',
      read: () => watch.listDamaged().length,
    },
    place.kind === 'embedded' && {
      name: 'relata_catalogs_foreign',
      help: 'Catalogs that are not served because their file belongs to another project or installation.',
      read: () => watch.listForeign().length,
    },
    postgres && {
      name: 'relata_database_connections',
      help: 'Connections of the serving thread, and callers that wait for one.',
      label: 'state',
      read: () => ({ ...postgres.countConnections() }),
    },
    readers && {
      name: 'relata_replica_lag_seconds',
      help: 'Delay of a replica, by its position in RELATA_REPLICA_URLS.',
      label: 'replica',
      read: () =>
        Object.fromEntries(
          readers.listDelaysMs().map((delayMs, index) => [String(index + 1), delayMs / 1000]),
        ),
    },
  ];
  return gauges.filter((gauge) => !!gauge);
}

/** Without a backup, the gauges of alerts and of the dashboard exist as well, with the value 0. */
function listBackupGauges(backup: ContinuousBackup | undefined): WatchedGauge[] {
  const count = (name: keyof typeof STATE) => () => backup?.read(name) ?? 0;
  const watched = [
    {
      name: 'relata_backup_lag_seconds',
      help: 'Delay of the target of the backup; 0 if it has everything, or there is no backup.',
      read: () => backup?.readLagSeconds() ?? 0,
    },
    {
      name: 'relata_backup_standby_lag_seconds',
      help: 'Delay of a standby behind the writer; 0 if this is not a standby.',
      read: () => (backup?.isStandby() ? backup.readStandbySeconds() : 0),
    },
    {
      name: 'relata_backup_away',
      help: '1 while the backup does not continue; /health/ready has the reason.',
      read: () => Number(backup?.isAway() ?? false),
    },
    {
      name: 'relata_backup_incomplete',
      help: '1 while the last check found that the base copy or a segment is missing in the target.',
      read: count('isIncomplete'),
    },
    {
      name: 'relata_backup_gaps',
      help: 'Checks since the start that found an object missing in the target.',
      read: count('gaps'),
    },
  ];
  return backup === undefined ? watched : [...watched, ...listDetails(count)];
}

const listDetails = (count: (name: keyof typeof STATE) => () => number): WatchedGauge[] => [
  {
    name: 'relata_backup_last_instant_seconds',
    help: 'Unix time of the last instant that can be restored; 0 if there was none since the start.',
    read: () => count('sentAt')() / 1_000,
  },
  {
    name: 'relata_backup_base_seconds',
    help: 'Unix time of the last complete base copy; 0 if there is none, so nothing can be restored.',
    read: () => count('basedAt')() / 1_000,
  },
  {
    name: 'relata_backup_checked_seconds',
    help: 'Unix time of the last complete check of the target; 0 if there was none since the start.',
    read: () => count('checkedAt')() / 1_000,
  },
  {
    name: 'relata_backup_unsent_bytes',
    help: 'Bytes of write-ahead logs that wait for an unreachable target.',
    read: count('unsentBytes'),
  },
  { name: 'relata_backup_sent_bytes', help: 'Bytes sent since the start.', read: count('sentBytes') },
  { name: 'relata_backup_segments', help: 'Segments sent since the start.', read: count('segments') },
  { name: 'relata_backup_failures', help: 'Failed attempts since the start.', read: count('failures') },
];
