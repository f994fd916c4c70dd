/**
 * The control plane: ops listener, webhooks, changes of the registry, calls and media processes; how it opens, drains and closes.
 */
import { join } from 'node:path';
import { Operators } from '../../gateways/ops/operators.ts';
import { RefusedCredentials } from '../../gateways/ops/refused-credentials.ts';
import { OpsListener } from '../../gateways/ops/ops-listener.ts';
import { ensureOpsToken } from '../../gateways/ops/ops-token.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { OpsTokenFile } from '../../storage/keys/ops-token-file.ts';
import type { ImportResult } from '../../storage/registry/registry-import.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { adminRoutes } from './admin-routes.ts';
import { CallService, type CallServiceDeps } from './call-service.ts';
import { EventRoutes } from '../../gateways/admin/event-routes.ts';
import { OperatorConsole, type OperatorConsoleDeps } from './operator-console.ts';
import type { ServerContext } from './server-context.ts';
import type { Logging } from './logging.ts';
import type { Member } from '../membership/membership.ts';
import type { UpgradeControl } from '../site/core-task.ts';
import { upgradeRoutes } from '../site/upgrade-routes.ts';
import { RegistryRefresh } from './registry-refresh.ts';
import { registryWriting, type RegistryWriting } from './registry-writing.ts';
import { reportExposedFiles, reportRisks } from '../config/risks.ts';
import { AlarmWatch } from '../health/alarm-watch.ts';
import { fillRegistry, hasEntries } from './unasked-changes.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';
import type { WebhookService } from './webhook-service.ts';

export interface ControlPlaneDeps {
  readonly member: Member;
  readonly dataDirectory: string;
  readonly consoleKey: OperatorConsoleDeps['consoleKey'];
  readonly tables: RegistryTables;
  readonly startMedia: CallServiceDeps['startMedia'];
  readonly mediaSite: CallServiceDeps['mediaSite'];
  readonly upgrade: UpgradeControl;
  /** Writes to the log at every log level. */
  readonly announce: Logging['announce'];
}

export class ControlPlane {
  readonly writer: RegistryWriting['writer'];
  readonly refresh: RegistryRefresh;
  readonly calls: CallService;
  readonly webhooks: WebhookService;
  readonly tables: RegistryTables;
  /** Log of operators' changes at this server. */
  readonly audit: AuditLog;
  readonly operators: Operators;
  readonly provisioner: RegistryWriting['provisioner'];
  readonly #writing: RegistryWriting;
  readonly #context: ServerContext;
  readonly #member: Member;
  readonly #eventRoutes: EventRoutes;
  readonly #refusals: RefusedCredentials;
  readonly #ops: OpsListener;
  readonly #console: OperatorConsole;
  readonly #alarms: AlarmWatch;
  /** Resolves when webhooks run; it is not awaited by a later core. */
  #webhooksRun: Promise<void> | void = undefined;

  /** Creates the bearer token if missing; throws when the data directory is not writable. */
  constructor(context: ServerContext, deps: ControlPlaneDeps) {
    const { settings, clock, log, registry, records, telemetry, signingKeys } = context;
    const { dataDirectory: directory, tables, startMedia, mediaSite, member } = deps;
    this.#context = context;
    this.#member = member;
    this.tables = tables;
    this.audit = new AuditLog({
      directory,
      clock,
      onRecorded: (line) => deps.announce(line, 'audit'),
      onLost: (line, reason) =>
        log.error({ audit: line, reason }, 'audit log: result of a change not written'),
    });
    this.operators = new Operators({
      file: new OpsTokenFile(directory),
      localToken: ensureOpsToken(directory),
      clock,
      log,
    });
    const { audit } = this;
    this.#writing = registryWriting(context, { member, tables, audit, changed: () => this.#review() });
    this.writer = this.#writing.writer;
    this.provisioner = this.#writing.provisioner;
    this.refresh = new RegistryRefresh({
      directory,
      allowShortSecrets: settings.registry.allow_short_secrets,
      registry,
      signingKeys,
      log,
      changed: () => this.#imported(),
    });
    this.webhooks = member.webhooks({
      clock,
      log,
      telemetry,
      onFault: (file, reason, fault) => context.own.storeHealth?.foundFault(reason, file, fault),
      events: records.events,
      dataDirectory: directory,
      allowLocal: settings.webhooks.allow_local,
    });
    this.calls = new CallService({
      ...context,
      startMedia,
      mediaSite,
      wakeups: context,
      records: records.calls,
      opsAddress: () => this.#ops.address,
    });
    this.#eventRoutes = new EventRoutes({ clock, events: records.events });
    this.#refusals = new RefusedCredentials(context);
    this.#console = new OperatorConsole({
      ...context,
      consoleKey: deps.consoleKey,
      operators: this.operators,
      refusals: this.#refusals,
    });
    this.#alarms = new AlarmWatch({ ...context, dataDirectory: directory });
    this.#ops = this.#composeOps(deps);
  }

  /**
   * Opens the ops listener first, so that probes see the start, and imports the registry before the first event of a webhook.
   * `isLater`: keeps the registry of the previous core, since devices and backends wait. Resolves with the address of the ops listener.
   */
  async recover(isLater: boolean): Promise<string> {
    const { settings, log, readiness, registry } = this.#context;
    reportRisks(settings, log);
    reportExposedFiles(settings, log);
    const ops = formatListenAddress({ host: settings.ops.listen.host, port: await this.#ops.listen() });
    await this.#member.prepare(this.#context, this);
    if (!isLater) await fillRegistry(this.#context, this);
    readiness.watchRegistry(() => hasEntries(registry));
    await this.#writing.notices.start();
    const webhooks = this.webhooks.start();
    // A later core does not wait for webhooks: they deliver its events once started. A failure ends this core, and a new one starts.
    if (!isLater) {
      this.#webhooksRun = webhooks;
      webhooks?.catch(() => undefined);
    }
    return ops;
  }

  /** Call when the server is ready: begins what a start need not wait for. */
  opened(): void {
    void this.#ops.prepare();
    this.#console.start();
    this.#alarms.start();
  }

  /** Resumes calls. Resolves with the address of media once it listens and webhooks run, which may take a while. */
  async startCalls(): Promise<string> {
    const { calls } = this;
    calls.resume();
    await Promise.all([calls.media.start(), this.#webhooksRun]);
    return formatListenAddress(calls.mediaProcesses.address ?? this.#context.settings.media.listen);
  }

  /** SIGHUP: imports the registry file again. Never rejects; a failure is logged and changes nothing. Null: no file is set. */
  async importFile(): Promise<ImportResult | null> {
    const { settings, log } = this.#context;
    const { file } = settings.registry;
    reportExposedFiles(settings, log);
    return file === null ? null : this.refresh.import({ file, replace: false, skipUnchanged: false });
  }

  endWaits(): void {
    this.#eventRoutes.endWaits();
  }

  /** Stops publishing registry changes, before the records close: those left are published after the next start. */
  async stopNotifying(): Promise<void> {
    await this.#writing.notices.stop();
  }

  /** After the records are closed, so that webhooks have received the last commit. */
  async close(): Promise<void> {
    this.#console.stop();
    await this.#alarms.stop();
    this.#context.deviceIndex.stop();
    await this.webhooks.stop();
    this.#ops.close();
    await this.operators.close();
  }

  #composeOps({ dataDirectory, tables, upgrade }: ControlPlaneDeps): OpsListener {
    const { settings, readiness, clock, log, signingKeys, connections, metrics } = this.#context;
    const administration = adminRoutes(this.#context, {
      dataDirectory,
      tables,
      writer: this.writer,
      operators: this.operators,
      changed: () => this.#review(),
      changedEntry: () => this.#imported(),
      forgetDerivedKeys: () => signingKeys.purgeAll(),
    });
    const all = [
      ...administration,
      ...this.#eventRoutes.routes,
      ...this.webhooks.routes,
      ...this.calls.routes,
      ...this.#member.routes(this.#context),
      ...upgradeRoutes(upgrade),
      ...this.refresh.routes(),
      ...this.#console.routes,
      this.#alarms.route,
    ];
    const { listen, hosts, connections_per_address_max: perAddressMax } = settings.ops;
    const ops = new OpsListener(
      {
        clock,
        metrics,
        readiness,
        progress: this.#context.progress,
        log,
        connectionsMax: () => connections.opsMax(),
        routes: all,
        pages: [...this.#console.pages, this.calls.page(this.#console.files, this.#refusals)],
        operators: this.operators,
        refusals: this.#refusals,
        sessions: this.#console.sessions,
        audit: this.audit,
      },
      { ...listen, hosts, perAddressMax, spoolDirectory: join(dataDirectory, 'spool') },
    );
    connections.joinOps(ops.connections);
    return ops;
  }

  /** A registry change of another node was applied here. */
  registryApplied(): void {
    this.webhooks.registryChanged();
    this.#review();
  }

  #imported(): void {
    this.#member.registryWritten();
    this.registryApplied();
  }

  /** After a registry change that may revoke the rights of sessions or calls. */
  #review(): void {
    this.#context.deviceReview.begin();
    this.calls.service.registryChanged();
  }
}
