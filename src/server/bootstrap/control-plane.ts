/**
 * The control plane, one a machine: the ops listener, webhooks, what changes the registry, calls and the media
 * process. How it opens, drains and closes.
 */
import { join } from 'node:path';
import { Operators } from '../../gateways/ops/operators.ts';
import { OpsListener } from '../../gateways/ops/ops-listener.ts';
import { ensureOpsToken } from '../../gateways/ops/ops-token.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { OpsTokenFile } from '../../storage/keys/ops-token-file.ts';
import type { ImportResult } from '../../storage/registry/registry-import-messages.ts';
import { RegistryWriter } from '../../storage/registry/registry-write.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { bridgeRoutes } from '../../gateways/admin/bridge-routes.ts';
import { deviceRoutes } from '../../gateways/admin/device-routes.ts';
import { registryRoutes } from '../../gateways/admin/registry-routes.ts';
import { CallService, type CallServiceDeps } from './call-service.ts';
import { EventRoutes } from '../../gateways/admin/event-routes.ts';
import type { ServerContext } from './server-context.ts';
import type { Logging } from './logging.ts';
import { opsTokenRoutes } from '../../gateways/admin/ops-token-routes.ts';
import type { Member } from '../membership/membership.ts';
import { RegistryRefresh } from './registry-refresh.ts';
import { formatListenAddress } from '../config/settings-values.ts';
import { tokenKeyRoutes } from '../../gateways/admin/token-key-routes.ts';
import type { WebhookService } from './webhook-service.ts';

export interface ControlPlaneDeps {
  readonly member: Member;
  readonly dataDirectory: string;
  readonly tables: RegistryTables;
  readonly startMedia: CallServiceDeps['startMedia'];
  /** Written to the log whatever its level. */
  readonly announce: Logging['announce'];
}

export class ControlPlane {
  readonly writer: RegistryWriter;
  readonly refresh: RegistryRefresh;
  readonly calls: CallService;
  readonly tables: RegistryTables;
  /** Of everything that an operator changes here. */
  readonly audit: AuditLog;
  readonly operators: Operators;
  readonly #context: ServerContext;
  readonly #webhooks: WebhookService;
  readonly #written: () => void;
  readonly #eventRoutes: EventRoutes;
  readonly #ops: OpsListener;

  /** Makes the bearer token where there is none; throws when the data directory cannot be written. */
  constructor(context: ServerContext, deps: ControlPlaneDeps) {
    const { settings, clock, log, registry, records, telemetry, signingKeys } = context;
    const { dataDirectory: directory, tables, startMedia, member } = deps;
    this.#context = context;
    this.#written = () => member.registryWritten();
    this.tables = tables;
    this.audit = new AuditLog({
      directory,
      clock,
      told: (line) => deps.announce(line, 'audit'),
      lost: (line, reason) =>
        log.error({ audit: line, reason }, 'the result of a change is not in the audit log'),
    });
    this.operators = new Operators({
      file: new OpsTokenFile(directory),
      localToken: ensureOpsToken(directory),
      clock,
      log,
    });
    this.writer = new RegistryWriter(tables, registry, this.#written);
    this.refresh = new RegistryRefresh({
      directory,
      mode: tables.environment.mode,
      allowShortSecrets: settings.registry.allow_short_secrets,
      registry,
      signingKeys,
      log,
      changed: () => this.#imported(),
    });
    this.#webhooks = member.webhooks({
      clock,
      log,
      telemetry,
      events: records.events,
      dataDirectory: directory,
      allowLocal: settings.webhooks.allow_local,
    });
    this.calls = new CallService({
      ...context,
      startMedia,
      fetchCall: member.fetchCall,
      records: records.calls,
      opsAddress: () => this.#ops.address,
    });
    this.#eventRoutes = new EventRoutes({ clock, events: records.events });
    this.#ops = this.#composeOps(deps);
  }

  /** Resolves to the ops listener's real address: probes can see a start. */
  async listen(): Promise<string> {
    const { host } = this.#context.settings.ops.listen;
    return formatListenAddress({ host, port: await this.#ops.listen() });
  }

  /** With the registry in, and before anything happens that a webhook is to be told of. */
  async startWebhooks(): Promise<void> {
    await this.#webhooks.start();
  }

  /** Takes up the calls of the last stop. Resolves to where media is, once that listens: it takes its time. */
  async startCalls(): Promise<string> {
    const { calls } = this;
    calls.resume();
    await calls.media.start();
    return formatListenAddress(calls.mediaConnection.address ?? this.#context.settings.media.listen);
  }

  /**
   * SIGHUP: the registry file again, operators' tokens and the certificate. Never rejects; failures are logged and change
   * nothing. Resolves to what became of the file; null: none is set.
   */
  async reload(): Promise<ImportResult | null> {
    const { file } = this.#context.settings.registry;
    const imported =
      file === null ? null : await this.refresh.import({ file, replace: false, skipUnchanged: false });
    await this.operators.reload();
    this.calls.mediaConnection.reloadTls();
    return imported;
  }

  endWaits(): void {
    this.#eventRoutes.endWaits();
  }

  drain(): Promise<void> {
    return this.calls.drain();
  }

  /** Before the records are closed. */
  closeCalls(): void {
    this.calls.close();
  }

  /** Behind the records: webhooks have seen what was committed last. */
  async close(): Promise<void> {
    await this.#webhooks.stop();
    this.#ops.close();
    await this.operators.close();
  }

  #composeOps({ dataDirectory, member }: ControlPlaneDeps): OpsListener {
    const { settings, readiness, log, records, signingKeys } = this.#context;
    const { exposition, routes } = member.view(this.#context);
    const context = {
      ...this.#context,
      writer: this.writer,
      rules: { allowShortSecrets: settings.registry.allow_short_secrets },
      changed: () => this.#changed(),
      forgetDerivedKeys: () => {
        signingKeys.purgeAll();
        this.#notifyOthers();
      },
    };
    const { sleep: sleepRecords, signal: signalRecords, events } = records;
    const all = [
      ...registryRoutes(context),
      ...bridgeRoutes(context),
      ...deviceRoutes({ ...context, sleepRecords, signalRecords, events }),
      ...this.#eventRoutes.routes,
      ...this.#webhooks.routes,
      ...this.calls.routes,
      ...tokenKeyRoutes(context.tokenKeys),
      ...opsTokenRoutes(this.operators),
      ...routes,
      this.refresh.uploadRoute(),
    ];
    const { listen, hosts } = settings.ops;
    return new OpsListener(
      {
        metrics: exposition,
        readiness,
        log,
        connections: this.#context.connections.ops,
        routes: all,
        viewerRoutes: this.calls.viewerRoutes,
        operators: this.operators,
        audit: this.audit,
      },
      {
        ...listen,
        hosts,
        spoolDirectory: join(dataDirectory, 'spool'),
      },
    );
  }

  /** Another node has changed the registry, and it is here. */
  registryApplied(): void {
    this.#webhooks.registryChanged();
    this.#review();
  }

  #imported(): void {
    this.#written();
    this.#webhooks.registryChanged();
    this.#changed();
  }

  /** After every change of the registry that may forbid what is under way. */
  #changed(): void {
    this.#review();
    this.#notifyOthers();
  }

  #review(): void {
    this.#context.deviceReview.begin();
    this.calls.service.registryChanged();
  }

  #notifyOthers(): void {
    this.#context.cluster?.peers.notify('everybody', { kind: 'registry-changed' });
  }
}
