/** Backups as text for people: their content, and when they were taken. */
import type { BackupManifest } from '../../storage/backup/backup-format.ts';
import { countRows } from '../../storage/backup/backup-format.ts';
import { counted } from '../shell/option-values.ts';

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
