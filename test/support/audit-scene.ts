/** An audit log in a directory, the lines it reports, and the lines in its files. */
import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '../../src/lib/clock.ts';
import type { AuditIntent, AuditLine } from '../../src/model/audit.ts';
import { AuditLog, type AuditLogDeps } from '../../src/storage/audit/audit-log.ts';
import { auditPath } from '../../src/storage/audit/audit-files.ts';

export interface AuditScene {
  readonly audit: AuditLog;
  readonly told: readonly AuditLine[];
  readonly lost: readonly string[];
}

export function openAudit(
  directory: string,
  clock: Clock,
  limits: Pick<AuditLogDeps, 'fileBytesMax' | 'oldFilesMax'> = {},
): AuditScene {
  const told: AuditLine[] = [];
  const lost: string[] = [];
  const audit = new AuditLog({
    directory,
    clock,
    onRecorded: (line) => told.push(line),
    onLost: (_line, reason) => lost.push(reason),
    ...limits,
  });
  return { audit, told, lost };
}

/** Reads the file independently of the code under test: one JSON value per line. */
export function linesInFile(directory: string, age = 0): AuditLine[] {
  const path = auditPath(directory, age);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as AuditLine);
}

export function anIntent(change: Partial<AuditIntent> = {}): AuditIntent {
  return {
    operator: 'alice',
    role: 'operator',
    from: '10.0.0.7',
    action: 'device.kick',
    ids: { device_id: 'DOOR-1' },
    ...change,
  };
}
