/**
 * A whole server, or one process of several: its parts in the order they are put together, and how it stops. Nothing
 * listens for devices or callers until the store is open, the registry is in, and what a crash left open is closed.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { assert } from '../../lib/assert.ts';
import type { Log } from '../../lib/log.ts';
import type { CoreHandle } from '../site/core-task.ts';
import { awaitSessions, mayBeBrought } from '../site/unclaimed-sessions.ts';
import { logOpened, openStore, type Store } from '../../storage/lmdb/open-store.ts';
import { CertificatesInForce } from '../config/certificates-in-force.ts';
import { ControlPlane } from './control-plane.ts';
import { reloadAll } from './reload.ts';
import { type Reloaded, recordReload } from './unasked-changes.ts';
import { Gateways } from './gateways.ts';
import { LiveFigures } from './server-figures.ts';
import { joinContext, nodeName, openContext, type ServerContext } from './server-context.ts';
import type { Logging } from './logging.ts';
import { LiveTokenKeys, tokenKeyFileOf } from '../../storage/keys/token-key-file.ts';
import { startMediaChild, type MediaCarrier } from '../children/media-child.ts';
import { AloneMembership, type Member, type Membership } from '../membership/membership.ts';
import { ownMachine, type WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessMembership } from '../membership/process-membership.ts';
import { hasControlPlane, hasGateways } from '../supervisor/process-messages.ts';
import type { TakeOver } from '../upgrade/server-hand-over.ts';
import { ServerUpgrade } from '../upgrade/server-upgrade.ts';
import { upgradeOf, type UpgradeControl } from '../upgrade/upgrade-routes.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { ConfiguredSettings } from '../config/settings.ts';
import type { ListenerName, Settings } from '../config/settings-schema.ts';

export interface ServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Left out: a child. */
  readonly startMedia?: () => MediaCarrier;
  /** Sources of the settings; absent: none, as in a test. */
  readonly configured?: ConfiguredSettings;
  /** Of one process among several; null: it is the whole server. */
  readonly handle: WorkerHandle | null;
  /** Writes to the log whatever its level; left out: as what is of interest. */
  readonly announce?: Logging['announce'];
  /** How the release is changed while devices sleep on; left out: it is not. */
  readonly upgrade?: UpgradeControl;
  /** The core of a site with edges has it; absent: this process holds the sleep connections. */
  readonly core?: CoreHandle;
  /** What a server before this one has left to it; left out: nothing. */
  readonly takeOver?: TakeOver;
}

export type RunningServer = Readonly<Awaited<ReturnType<Server['listen']>>>;

export type StartServer = typeof startServer;

/** Rejects, with everything closed again, when a part cannot start; the error is a sentence for the operator. */
export async function startServer(settings: Settings, deps: ServerDeps): Promise<RunningServer> {
  const membership = await becomeMember(settings, deps);
  try {
    return await startMember(settings, deps, membership);
  } catch (error) {
    await membership.hangUp();
    throw error;
  }
}

/** Rejects with a sentence when the others cannot be sought. */
async function becomeMember(settings: Settings, { clock, log, handle }: ServerDeps): Promise<Membership> {
  if (handle !== null) return new ProcessMembership(handle, ownMachine(handle, { clock, log }), clock);
  const { nats_url: url } = settings.cluster;
  if (url === null) return new AloneMembership();
  // Loaded only here: a server without a cluster runs without the client of NATS.
  const { NodeMembership } = await import('../membership/node-membership.ts');
  return NodeMembership.open(settings, url, { clock, log, node: nodeName(settings) });
}

async function startMember(
  settings: Settings,
  deps: ServerDeps,
  membership: Membership,
): Promise<RunningServer> {
  // Several processes have one that supervises them, and has taken the lock for all.
  const lock = deps.handle === null ? 'taken' : 'held';
  const store = openStore(settings.data.dir, { lock, predecessor: deps.takeOver?.predecessor ?? null });
  let server: Server | null = null;
  try {
    const tokenKeys = await LiveTokenKeys.open({ ...deps, file: tokenKeyFileOf(settings) });
    const open = openContext(settings, store, { ...deps, tokenKeys, membership });
    const member = membership.join(open);
    server = new Server(joinContext(open, member), { ...deps, membership, member }, store);
    return await server.listen(await server.recover());
  } catch (error) {
    // What was left to this one is taken back by whoever left it.
    await (server ?? store).close(deps.takeOver !== undefined);
    throw error;
  }
}

interface MemberDeps extends ServerDeps {
  readonly membership: Membership;
  readonly member: Member;
}

class Server {
  readonly #store: Store;
  readonly #membership: Membership;
  readonly #member: Member;
  readonly #context: ServerContext;
  readonly #controlPlane: ControlPlane | null;
  readonly #gateways: Gateways | null;
  readonly #upgrade: ServerUpgrade;
  readonly #certificates: CertificatesInForce;
  /** True: edges hold sessions of the core before this one. */
  readonly #awaitsSessions: boolean;
  readonly #timers: Cancel[] = [];

  constructor(context: ServerContext, deps: MemberDeps, store: Store) {
    const {
      log,
      membership,
      member,
      startMedia = startMediaChild,
      handle,
      takeOver = null,
      core = null,
    } = deps;
    assert((core !== null) === context.settings.sleep.edges > 0, 'only `serve` starts a core of edges');
    const upgrade = deps.upgrade ?? upgradeOf(handle);
    this.#awaitsSessions = core?.isFirst === false;
    const { announce = (fields, message) => log.info(fields, message) } = deps;
    const { directory: dataDirectory, registry: tables } = store;
    this.#store = store;
    this.#membership = membership;
    this.#member = member;
    this.#context = context;
    this.#certificates = new CertificatesInForce(context.settings, log);
    this.#controlPlane = hasControlPlane(membership.role)
      ? new ControlPlane(context, { member, dataDirectory, tables, startMedia, announce, upgrade })
      : null;
    const sharesApiPort = handle !== null || deps.upgrade !== undefined;
    this.#gateways = hasGateways(membership.role) ? new Gateways(context, handle, sharesApiPort, core) : null;
    const closeRest = async (): Promise<void> => {
      this.#rest();
      await this.#closeStore(true);
    };
    this.#upgrade = new ServerUpgrade({
      context,
      gateways: this.#gateways,
      controlPlane: this.#controlPlane,
      upgrade,
      takeOver,
      leavePeers: () => member.leave(),
      giveBackSockets: () => {
        handle?.report({ kind: 'lets-go' });
        this.#gateways?.sleepListener.sockets.giveUp();
      },
      closeRest,
    });
    context.own.calls = this.#controlPlane?.calls ?? null;
    const webhooks = this.#controlPlane?.webhooks ?? null;
    if (webhooks !== null) {
      const webhookBacklog = () => webhooks.ask<'backlog'>({ kind: 'backlog' });
      context.own.figures = new LiveFigures({
        ...context,
        store,
        webhookBacklog,
        certificates: this.#certificates,
      });
    }
    context.own.provisioner = this.#controlPlane?.provisioner ?? null;
    if (this.#gateways !== null) context.own.deviceListeners = this.#gateways.deviceListeners;
    if (core !== null)
      context.own.site = { edges: () => this.#gateways?.edges() ?? [], children: () => core.children() };
  }

  /**
   * The registry comes in, the other members are joined, and what a crash left open is closed. Resolves to the address of the ops
   * listener; empty: another process has it.
   */
  async recover(): Promise<string> {
    logOpened(this.#store, this.#context.log);
    const ops = (await this.#controlPlane?.recover(this.#upgrade.isSuccessor)) ?? '';
    await this.#member.open(this.#context);
    await this.#member.recover(this.#context, this.#awaitsSessions ? mayBeBrought : this.#upgrade.goesOn());
    await this.#upgrade.takeUp();
    if (this.#awaitsSessions) this.#timers.push(awaitSessions(this.#context));
    return ops;
  }

  /** Devices and callers are let in. */
  async listen(ops: string) {
    const { watch, readiness, log, clock, connections, settings, records } = this.#context;
    this.#timers.push(watch.start(), connections.start(clock, log));
    const media = this.#controlPlane?.startCalls() ?? Promise.resolve('');
    media.catch(() => undefined);
    this.#member.callsResumed();
    const calls = this.#member.apiCalls(this.#context);
    const provision = this.#member.provision(this.#context);
    const listening = await this.#gateways?.listen({ calls, provision }, media, this.#upgrade.sleepSockets);
    const listeners = { api: '', sleep: '', signal: '', ...listening, media: await media, ops };
    if (this.#membership.role === 'alone') writeRuntimeFile(this.#store.directory, listeners, settings);
    readiness.clear('starting');
    this.#upgrade.serves();
    return {
      /** Real addresses, by name; empty for what another process listens on. */
      listeners: listeners as Readonly<Record<ListenerName, string>>,
      /** For who measures it from within. */
      records,
      ...this.#upgrade.upgradable(listeners),
      /** SIGHUP: the registry file again, keys, tokens and certificates. Never rejects; failures are logged and change nothing. */
      reload: () => this.#reload(),
      /** SIGTERM: drains, flushes, closes. `isHurried`: sessions are ended at once. */
      stop: (isHurried?: boolean) => this.#stop(isHurried),
    };
  }

  async #reload(): Promise<void> {
    // Of several processes the coordinator has the audit log.
    const act = (): Promise<Reloaded> =>
      reloadAll({
        context: this.#context,
        controlPlane: this.#controlPlane,
        gateways: this.#gateways,
        certificates: this.#certificates,
      });
    if (this.#controlPlane === null) await act();
    else await recordReload(this.#controlPlane.audit, this.#context, act);
  }

  async #stop(isHurried = false): Promise<void> {
    const { readiness, directory, log } = this.#context;
    readiness.set('draining');
    this.#member.draining();
    log.info({ devices: directory.size }, 'draining');
    this.#gateways?.endWaits();
    this.#controlPlane?.endWaits();
    await Promise.all([this.#controlPlane?.calls.drain(), this.#gateways?.drain(isHurried)]);
    await this.#gateways?.finish();
    await this.close();
    log.info({}, 'stopped');
  }

  /** Everything that was opened; what was acknowledged is in the store before it closes. */
  async close(leavesLock = false): Promise<void> {
    this.#rest();
    await this.#gateways?.close();
    await this.#closeStore(leavesLock);
  }

  #rest(): void {
    this.#context.deviceReview.stop();
    this.#controlPlane?.calls.close();
    for (const stop of this.#timers.splice(0)) stop();
  }

  /** `leavesLock`: to the server that goes on with the directory, and writes the runtime file anew. */
  async #closeStore(leavesLock: boolean): Promise<void> {
    await this.#member.close();
    await this.#controlPlane?.stopTelling();
    await this.#context.records.close();
    await this.#controlPlane?.close();
    await this.#membership.hangUp();
    if (this.#membership.role === 'alone' && !leavesLock) removeRuntimeFile(this.#store.directory);
    await this.#store.close(leavesLock);
  }
}
