/** Backups as text for people: how far one is, what is in it, and when it was taken. */
import type { Clock } from '../../lib/clock.ts';
import type { BackupManifest } from '../../storage/backup/backup-format.ts';
import { countRows } from '../../storage/backup/backup-format.ts';
import { counted, restInWords } from '../shell/option-values.ts';

/** `copying: 42 %, 400000 of 1000000 rows, 12 seconds left`. */
export class RowPace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #verb: string;
  readonly #startedMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, verb: string) {
    this.#clock = clock;
    this.#verb = verb;
    this.#startedMs = clock.monotonicMs();
  }

  describe(rows: number, inAll: number): string {
    const elapsedMs = this.#clock.monotonicMs() - this.#startedMs;
    const share = inAll === 0 ? 1 : rows / inAll;
    const parts = [`${Math.floor(share * 100)} %`, `${rows} of ${inAll} rows`];
    const rest = restInWords(share, elapsedMs);
    if (rest !== null) parts.push(rest);
    return `${this.#verb}: ${parts.join(', ')}`;
  }
}

/** `12 rows, 1 device, 3 events and 2 files of 2026-11-23T22:00:00.000Z, release 0.1.0, store format 1`. */
export function describeContent(manifest: BackupManifest): string {
  const { release, at, store_format: format, files } = manifest;
  const parts = [
    counted(rowsOf(manifest, 'registry', 'devices'), 'device'),
    counted(rowsOf(manifest, 'state', 'events'), 'event'),
    counted(countRows(manifest), 'row'),
    counted(files.length, 'file'),
  ];
  return `${parts.join(', ')}, of ${at}, release ${release}, store format ${format}`;
}

function rowsOf({ tables }: BackupManifest, file: string, name: string): number {
  return tables.find((table) => table.file === file && table.name === name)?.rows ?? 0;
}

/** `12.3 MB`. */
export function sizeInWords(bytes: number): string {
  return bytes < 100_000 ? counted(bytes, 'byte') : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
