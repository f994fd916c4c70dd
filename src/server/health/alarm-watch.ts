/**
 * Alarms of this server, evaluated every 15 s without Prometheus: the alert rules, the reasons of `/readyz`, and the checks of the doctor
 * that a running server can make. `GET /v1/alarms` on the ops listener returns them.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { z } from 'zod';
import type { Cancel } from '../../lib/clock.ts';
import { readVersion } from '../../lib/package-version.ts';
import { alarmsEveryMs, checksEveryMs } from '../../model/console-limits.ts';
import { readRoute, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import { alarmFigures } from '../../telemetry/alarm-rules.ts';
import { Alarms, judgeRules, type Alarm, type FoundAlarm } from '../../telemetry/alarms.ts';
import { FigureHistory, type FigureHistoryDeps } from '../../telemetry/figure-history.ts';
import type { Readiness } from '../../telemetry/readiness.ts';
import type { ConfiguredSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { processStart } from '../site/site-route.ts';
import { readAlertRows, type AlertRow } from './alert-rows.ts';
import { checkRoom } from './directory-checks.ts';
import { checkFiles } from './file-checks.ts';
import type { Finding } from './finding.ts';
import { checkMachineLimits, thisMachine } from './machine-checks.ts';
import { reasonsInWords } from './unready-reasons.ts';

export interface AlarmWatchDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly node: string;
  readonly settings: Settings;
  readonly configured: Pick<ConfiguredSettings, 'file'>;
  readonly dataDirectory: string;
  readonly metrics: FigureHistoryDeps['exposition'];
  readonly readiness: Pick<Readiness, 'isReady' | 'reasons'>;
}

/** Reasons that an operator caused, so no alarm. */
const ordered: ReadonlySet<string> = new Set(['starting', 'draining']);

export class AlarmWatch {
  readonly route: AdminRoute = readRoute('/v1/alarms', z.strictObject({}), () => this.#answer());
  readonly #deps: AlarmWatchDeps;
  readonly #figures: FigureHistory;
  readonly #alarms: Alarms;
  #findings: readonly Finding[] = [];
  #checking = Promise.resolve();
  #rows: Promise<ReadonlyMap<string, AlertRow>> | null = null;
  #timers: readonly Cancel[] = [];

  constructor(deps: AlarmWatchDeps) {
    this.#deps = deps;
    this.#figures = new FigureHistory({ ...deps, exposition: deps.metrics }, alarmFigures);
    this.#alarms = new Alarms(deps.clock);
  }

  start(): void {
    const { clock } = this.#deps;
    const check = (): void => void (this.#checking = this.#checking.then(() => this.#check()));
    this.#timers = [
      clock.every(alarmsEveryMs, () => void this.#observe()),
      clock.every(checksEveryMs, check),
    ];
    check();
    void this.#observe();
  }

  /** Resolves when the checks have ended. */
  async stop(): Promise<void> {
    for (const cancel of this.#timers) cancel();
    await this.#checking;
  }

  async #observe(): Promise<void> {
    await this.#figures.record();
    this.#judge();
  }

  /** Never rejects. Writes no probe file: the store itself reports a disk that refuses writes. */
  async #check(): Promise<void> {
    const { settings, configured, clock, dataDirectory, log } = this.#deps;
    const nowMs = clock.wallMs();
    try {
      this.#findings = [
        ...checkMachineLimits(settings, nowMs, thisMachine()),
        ...(await checkRoom(dataDirectory, undefined, () => Promise.resolve(null))),
        ...checkFiles(settings, configured.file ?? undefined, nowMs),
      ];
    } catch (error) {
      log.warn({ err: error }, 'alarms: the machine cannot be checked; will retry');
    }
  }

  #judge(): void {
    const checks = this.#findings.flatMap(alarmOfFinding);
    this.#alarms.observe([...this.#unready(), ...judgeRules(this.#figures), ...checks]);
  }

  #unready(): FoundAlarm[] {
    const { isReady, reasons } = this.#deps.readiness;
    const severity = isReady ? 'warning' : 'critical';
    return reasons
      .filter((reason) => !ordered.has(reason))
      .map((of) => ({
        name: 'readyz',
        of,
        severity,
        forMs: 0,
        found: isReady ? 'ready, but incomplete' : 'not ready',
        advice: reasonsInWords[of] ?? null,
      }));
  }

  async #answer(): Promise<AlarmsAnswer> {
    const rows = await (this.#rows ??= readAlertRows());
    this.#judge();
    return encodeAlarms(this.#deps.node, this.#alarms, rows);
  }
}

export type AlarmsAnswer = ReturnType<typeof encodeAlarms>;

function encodeAlarms(
  node: string,
  { active, resolved }: Pick<Alarms, 'active' | 'resolved'>,
  rows: ReadonlyMap<string, AlertRow>,
) {
  return {
    node,
    version: readVersion(),
    // The start of the core, ISO 8601.
    started_at: processStart(),
    // `healthy`, or number and names of the firing alarms.
    health: healthOf(active),
    // Firing before pending.
    alarms: active.map((alarm) => encodeAlarm(alarm, rows)),
    // Newest first.
    resolved: resolved.map((alarm) => encodeAlarm(alarm, rows)),
  };
}

export type AlarmJson = ReturnType<typeof encodeAlarm>;

/** Times are ISO 8601. `meaning` null: see `found`. */
function encodeAlarm(alarm: Alarm, rows: ReadonlyMap<string, AlertRow>) {
  const { name, of, state, severity, found, sinceMs, resolvedMs, advice } = alarm;
  const { meaning = null, cure = advice } = rows.get(name) ?? {};
  const since = new Date(sinceMs).toISOString();
  const resolvedAt = resolvedMs === null ? null : new Date(resolvedMs).toISOString();
  return { name, of, state, severity, found, since, resolved_at: resolvedAt, meaning, cure };
}

function alarmOfFinding({ check, state, found, advice }: Finding): FoundAlarm[] {
  if (state === 'ok') return [];
  const severity = state === 'fail' ? 'critical' : 'warning';
  return [{ name: 'doctor', of: check, severity, forMs: 0, found, advice }];
}

function healthOf(active: readonly Alarm[]): string {
  const firing = active.filter(({ state }) => state === 'firing');
  if (firing.length === 0) return 'healthy';
  const names = firing.map(({ name, of }) => (of === '' ? name : `${name} ${of}`));
  return `${firing.length} ${firing.length === 1 ? 'alarm' : 'alarms'}: ${names.join(', ')}`;
}
