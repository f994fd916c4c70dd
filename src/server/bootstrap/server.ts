/**
 * A server: composition of its parts, start and stop. It accepts devices and requests only after the store is open, the registry is
 * imported, and sessions left open by a crash are closed.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import { assert } from '../../lib/assert.ts';
import type { CoreHandle, UpgradeControl } from '../site/core-task.ts';
import { awaitSessions, mayBeBrought } from '../site/unclaimed-sessions.ts';
import { logOpened, openStore, type Store } from '../../storage/lmdb/open-store.ts';
import { CertificatesInForce } from '../config/certificates-in-force.ts';
import { ControlPlane } from './control-plane.ts';
import { importLate, recordReload, recordUpgrade } from './unasked-changes.ts';
import { Gateways } from './gateways.ts';
import { liveFigures } from './server-figures.ts';
import { joinContext, nodeName, openContext, type ServerContext } from './server-context.ts';
import type { Logging } from './logging.ts';
import { ConsoleKey } from '../../storage/keys/console-key-file.ts';
import { LiveTokenKeys, tokenKeyFileOf } from '../../storage/keys/token-key-file.ts';
import { startMediaChild, type MediaCarrier } from '../children/media-child.ts';
import { AloneMembership, type Member, type Membership } from '../membership/membership.ts';
import { refusedUpgrade } from '../site/upgrade-routes.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { ConfiguredSettings } from '../config/settings.ts';
import type { ListenerName, Settings } from '../config/settings-schema.ts';

export interface ServerDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  /** Default: a child process. */
  readonly startMedia?: () => MediaCarrier;
  /** Sources of the settings. Default: none. */
  readonly configured?: ConfiguredSettings;
  /** Writes to the log at every level. Default: level info. */
  readonly announce?: Logging['announce'];
  /** Present in the core of a site with edges; absent: this process holds the sleep connections. */
  readonly core?: CoreHandle;
}

export type RunningServer = Omit<Server, 'recover' | 'listen' | 'close'>;

export type StartServer = typeof startServer;

/** Rejects, with everything closed again, when a part cannot start. The error is a sentence for the operator. */
export async function startServer(settings: Settings, deps: ServerDeps): Promise<RunningServer> {
  const membership = await becomeMember(settings, deps);
  try {
    return await startMember(settings, deps, membership);
  } catch (error) {
    await membership.hangUp();
    throw error;
  }
}

/** Rejects with a sentence when it cannot join the cluster. */
async function becomeMember(settings: Settings, { clock, log }: ServerDeps): Promise<Membership> {
  const { nats_url: url } = settings.cluster;
  if (url === null) return new AloneMembership();
  // Loaded on demand: a server without a cluster needs no NATS client.
  const { NodeMembership } = await import('../membership/node-membership.ts');
  return NodeMembership.open(settings, url, { clock, log, node: nodeName(settings) });
}

async function startMember(
  settings: Settings,
  deps: ServerDeps,
  membership: Membership,
): Promise<RunningServer> {
  const store = openStore(settings.data.dir);
  let server: Server | null = null;
  try {
    const tokenKeys = await LiveTokenKeys.open({ ...deps, file: tokenKeyFileOf(settings) });
    const consoleKey = settings.ops.console ? await ConsoleKey.open(settings.data.dir) : null;
    const open = openContext(settings, store, { ...deps, tokenKeys, membership });
    const member = membership.join(open);
    server = new Server(joinContext(open, member), { ...deps, membership, member, consoleKey }, store);
    return await server.listen(await server.recover());
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

interface MemberDeps extends ServerDeps {
  readonly membership: Membership;
  readonly member: Member;
  readonly consoleKey: ConsoleKey | null;
}

class Server {
  readonly #store: Store;
  readonly #membership: Membership;
  readonly #member: Member;
  readonly #context: ServerContext;
  readonly #controlPlane: ControlPlane;
  readonly #gateways: Gateways;
  readonly #upgrade: UpgradeControl;
  readonly #certificates: CertificatesInForce;
  /** True: edges may hold sessions of a previous core. */
  readonly #awaitsSessions: boolean;
  /** True: a previous core has served this site, and has filled the registry. */
  readonly #isLater: boolean;
  readonly #timers: Cancel[] = [];
  #listeners: Readonly<Record<ListenerName, string>> | null = null;

  constructor(context: ServerContext, deps: MemberDeps, store: Store) {
    const { log, membership, member, consoleKey, core = null } = deps;
    const { startMedia = startMediaChild } = deps;
    assert((core !== null) === context.settings.sleep.edges > 0, 'only `serve` starts a core of edges');
    const sessions = (): number => this.#gateways.deviceListeners.sleep.sessionCount;
    const upgrade = core?.upgrade ?? refusedUpgrade(context.settings.cluster.nats_url !== null, sessions);
    this.#upgrade = upgrade;
    this.#isLater = core !== null && !core.isFirst;
    this.#awaitsSessions = this.#isLater || (core !== null && context.settings.edges.listen !== null);
    const { announce = (fields, message) => log.info(fields, message) } = deps;
    const { directory: dataDirectory, registry: tables } = store;
    this.#store = store;
    this.#membership = membership;
    this.#member = member;
    this.#context = context;
    this.#certificates = new CertificatesInForce(context.settings, context);
    this.#controlPlane = new ControlPlane(context, {
      member,
      dataDirectory,
      consoleKey,
      tables,
      startMedia,
      mediaSite: core,
      announce,
      upgrade,
    });
    this.#gateways = new Gateways(context, core);
    const { calls, webhooks, provisioner } = this.#controlPlane;
    context.own.calls = calls;
    const webhookBacklog = () => webhooks.ask<'backlog'>({ kind: 'backlog' });
    context.own.figures = liveFigures({
      ...context,
      store,
      webhookBacklog,
      certificates: this.#certificates,
    });
    context.own.provisioner = provisioner;
    context.own.deviceListeners = this.#gateways.deviceListeners;
    if (core !== null)
      context.own.site = { edges: () => this.#gateways.edges(), children: () => core.children() };
  }

  /**
   * Imports the registry, joins the cluster, and closes sessions left open by a crash. Resolves with the address of the ops listener.
   */
  async recover(): Promise<string> {
    logOpened(this.#store, this.#context.log);
    const ops = await this.#controlPlane.recover(this.#isLater);
    await this.#member.open();
    await this.#member.recover(this.#context, this.#awaitsSessions ? mayBeBrought : () => false);
    if (this.#awaitsSessions) this.#timers.push(awaitSessions(this.#context));
    return ops;
  }

  /** Opens the gateways for devices and backends. */
  async listen(ops: string): Promise<this> {
    const { watch, readiness, log, clock, connections, settings } = this.#context;
    this.#timers.push(watch.start(), connections.start(clock, log));
    const { calls } = this.#controlPlane;
    const media = this.#controlPlane.startCalls();
    media.catch(() => undefined);
    this.#member.callsResumed();
    const listening = await this.#gateways.listen(calls, media);
    this.#listeners = { ...listening, media: await media, ops };
    writeRuntimeFile(this.#store.directory, this.#listeners, settings);
    readiness.clear('starting');
    if (this.#isLater) void importLate(this.#context, this.#controlPlane);
    // The start is complete in this turn of the event loop.
    const opened = setImmediate(() => {
      this.#gateways.opened();
      this.#controlPlane.opened();
    });
    this.#timers.push(() => clearImmediate(opened));
    return this;
  }

  /** Bound addresses by listener, once it listens. */
  get listeners(): Readonly<Record<ListenerName, string>> {
    assert(this.#listeners !== null, 'a server has addresses once it listens');
    return this.#listeners;
  }

  /** For benchmarks in the same process. */
  get records(): ServerContext['records'] {
    return this.#context.records;
  }

  /** SIGHUP: reloads the registry file, keys, tokens and certificates. Never rejects; a part that fails is logged and unchanged. */
  async reload(): Promise<void> {
    await recordReload({
      context: this.#context,
      controlPlane: this.#controlPlane,
      gateways: this.#gateways,
      certificates: this.#certificates,
    });
  }

  /** SIGUSR2: begins an upgrade. Never rejects; a refusal is logged. */
  async signalUpgrade(): Promise<void> {
    await recordUpgrade(this.#controlPlane.audit, this.#context, this.#upgrade);
  }

  /** Prepares for the next core: see `Gateways`. False: `stay` was called meanwhile. */
  leave(): Promise<boolean> {
    return this.#gateways.leave();
  }

  /** Reverts `leave`: the next core has failed. */
  stay(): void {
    this.#gateways.stay();
  }

  /** Answers open requests, commits and closes; edges keep the sleep sessions. */
  async handOver(): Promise<void> {
    this.#controlPlane.endWaits();
    await this.#gateways.handOver();
    await this.close();
    this.#context.log.info({}, 'handed over');
  }

  /** SIGTERM: drains, commits, closes. `isHurried`: ends all sessions at once. */
  async stop(isHurried = false): Promise<void> {
    const { readiness, directory, log } = this.#context;
    readiness.set('draining');
    this.#member.draining();
    log.info({ devices: directory.size }, 'draining');
    this.#gateways.endWaits();
    this.#controlPlane.endWaits();
    await Promise.all([this.#controlPlane.calls.drain(), this.#gateways.drain(isHurried)]);
    await this.#gateways.finish();
    await this.close();
    log.info({}, 'stopped');
  }

  /** Closes all parts. Acknowledged changes are in the store before it closes. */
  async close(): Promise<void> {
    this.#context.deviceReview.stop();
    this.#controlPlane.calls.close();
    for (const stop of this.#timers.splice(0)) stop();
    await this.#gateways.close();
    await this.#member.close();
    await this.#controlPlane.stopNotifying();
    await this.#context.records.close();
    await this.#controlPlane.close();
    await this.#membership.hangUp();
    removeRuntimeFile(this.#store.directory);
    await this.#store.close();
  }
}
