/**
 * The core of a site with edges: a server whose sleep connections are held by other processes. Its supervisor starts and stops
 * it; if the supervisor dies, the core stops. Source: scale-out.md, Edges.
 */
import { followParent, type ParentEnd } from '../../lib/children/parent-end.ts';
import { deferred } from '../../lib/deferred.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { fail, messageOf, succeed } from '../../lib/result.ts';
import { processStopMsMax } from '../../model/limits.ts';
import { linkVersion as mediaLinkVersion } from '../../protocol/media-link/link-message.ts';
import { edgeLinkVersion } from '../../protocol/edge-link/edge-message.ts';
import type { HoldingApi } from '../../server/bootstrap/holding-api.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import type { RunningServer, StartServer } from '../../server/bootstrap/server.ts';
import { frontCount, withListeners } from '../../server/config/derived-settings.ts';
import type {
  CoreChildKind,
  CoreOrder,
  CoreTask,
  SiteChild,
  UpgradeControl,
  UpgradeState,
} from '../../server/site/core-task.ts';
import { storeFormat } from '../../storage/lmdb/store-format.ts';
import type { FirstSecrets } from '../init/first-entries.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { firstStartNotice, seedFirstStart } from './first-start.ts';
import { announceConsole, checkStart, consoleUrl, exitOnUnexpectedErrors } from './serving-end.ts';

/** `isDemoAsked`: an empty store gets demo entries. Resolves when it serves; the process exits on its own. */
export async function serveCore(context: CommandContext, isDemoAsked: boolean): Promise<void> {
  const logging = openLog(context.settings.log, undefined, true);
  exitOnUnexpectedErrors(logging);
  // The HTTP front end's binary may be missing; the supervisor receives that like any other reason.
  const loading = import('../../server/bootstrap/server.ts');
  loading.catch(() => undefined);
  const core: Core = new Core(context, logging, loading, (news) => parent.report(news));
  const { clock } = context;
  const parent: ParentEnd<CoreChildKind> = followParent<CoreChildKind>({
    clock,
    release: readVersion(),
    progress: core.progress,
    ordered: (order) => core.follow(order),
    stop: () => core.end(false),
    orphaned: () => core.abandoned(),
  });
  const task = await parent.begun;
  logging.hush(task.failure !== null);
  try {
    await loading;
    if (task.isSuccessor) await core.succeed(task);
    await core.start(task, isDemoAsked);
    logging.hush(false);
    parent.ready({});
  } catch (error) {
    core.refused(error, task.failure);
    await parent.failed(messageOf(error));
    process.exit(1);
  }
}

interface ServerModule {
  readonly startServer: StartServer;
}

class Core {
  readonly progress: LoopProgress;
  readonly #context: CommandContext;
  readonly #logging: Logging;
  readonly #loading: Promise<ServerModule>;
  readonly #report: ParentEnd<CoreChildKind>['report'];
  #starting: Promise<RunningServer | null> = Promise.resolve(null);
  #children: readonly SiteChild[] = [];
  #upgrade: UpgradeState = { isUnderWay: false, failure: null };
  /** Holds the API port until the successor has a server; null: not a successor, or not yet. */
  #holding: HoldingApi | null = null;
  /** Orders from the supervisor, which may arrive before they are awaited. */
  readonly #listenOrder = deferred();
  readonly #serveOrder = deferred();
  #isEnding = false;

  constructor(
    context: CommandContext,
    logging: Logging,
    loading: Promise<ServerModule>,
    report: ParentEnd<CoreChildKind>['report'],
  ) {
    this.#context = context;
    this.#logging = logging;
    this.#loading = loading;
    this.#report = report;
    this.progress = new LoopProgress(context.clock);
  }

  /** Resolves when the previous core has ended. Rejects with a sentence if this core could not serve. */
  async succeed({ listeners }: CoreTask): Promise<void> {
    const { settings, clock, dataDirectory } = this.#context;
    await checkStart(this.#context);
    const { loadApi } = await import('../../server/bootstrap/holding-api.ts');
    this.#holding = await loadApi(withListeners(settings, listeners), clock, this.#logging.log);
    const facts = {
      storeFormat,
      dataDirectory,
      edgeLinks: [edgeLinkVersion],
      mediaLinks: [mediaLinkVersion],
    };
    this.#report({ kind: 'prepared', facts });
    await this.#listenOrder.promise;
    await this.#holding.port.listen();
    this.#report({ kind: 'listening' });
    await this.#serveOrder.promise;
  }

  /** Resolves when the core serves; for the first core, when every edge accepts connections. */
  async start(task: CoreTask, isDemoAsked: boolean): Promise<void> {
    const secrets = task.isFirst ? await seedFirstStart(this.#context, isDemoAsked, this.#logging.log) : null;
    this.#starting = this.#serve(task);
    const server = await this.#starting;
    if (task.isFirst && server !== null) this.#announce(server.listeners, secrets);
  }

  follow(order: CoreOrder): void {
    switch (order.kind) {
      case 'children':
        this.#children = order.children;
        return;
      case 'reload':
        return void this.#starting.then((server) => server?.reload());
      case 'upgrade':
        return void this.#starting.then((server) => server?.signalUpgrade());
      case 'upgrade-state':
        this.#upgrade = order.state;
        return;
      case 'leave':
        return void this.#leave();
      case 'stay':
        return void this.#starting.then((server) => server?.stay());
      case 'hand-over':
        return this.#endBy((server) => server.handOver());
      case 'listen':
        return this.#listenOrder.resolve();
      case 'serve':
        this.#serveOrder.resolve();
    }
  }

  /** `isHurried`: skips the drain. */
  end(isHurried: boolean): void {
    if (isHurried) setTimeout(() => process.exit(1), processStopMsMax).unref();
    this.#endBy((server) => server.stop(isHurried));
  }

  abandoned(): void {
    if (!this.#isEnding) this.#logging.log.error({}, 'supervisor: link ended; stopping');
    this.end(true);
  }

  /** Logs the stack of a programming error once; the supervisor receives only the sentence. */
  refused(error: unknown, failureBefore: string | null): void {
    this.#isEnding = true;
    if (failureBefore?.endsWith(messageOf(error)) !== true)
      this.#logging.log.error({ err: error }, 'core: cannot start');
    this.#logging.flushNow();
  }

  async #leave(): Promise<void> {
    const server = await this.#starting;
    if ((await server?.leave()) !== false) this.#report({ kind: 'left' });
  }

  #endBy(stop: (server: RunningServer) => Promise<void>): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const ending = async (): Promise<void> => {
      const server = await this.#starting;
      if (server !== null) await stop(server);
      await this.#logging.close();
    };
    void ending().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  }

  async #serve({ listeners, edgeSocket, mediaSockets, isFirst }: CoreTask): Promise<RunningServer> {
    const { startServer } = await this.#loading;
    const { settings, configured, clock } = this.#context;
    const { log, announce } = this.#logging;
    return startServer(withListeners(settings, listeners), {
      configured,
      clock,
      log,
      announce,
      core: {
        edgeSocket,
        mediaSockets,
        isFirst,
        progress: this.progress,
        children: () => this.#children,
        upgrade: this.#upgradeControl(),
        holding: this.#holding,
      },
    });
  }

  #upgradeControl(): UpgradeControl {
    const state = (): UpgradeState => this.#upgrade;
    return {
      begin: (edges) => {
        if (this.#upgrade.isUnderWay) return fail('an upgrade is under way');
        this.#upgrade = { isUnderWay: true, failure: null };
        this.#report({ kind: 'upgrade', edges });
        return succeed(undefined);
      },
      get state() {
        return state();
      },
    };
  }

  #announce(listeners: RunningServer['listeners'], secrets: FirstSecrets | null): void {
    const { settings, dataDirectory } = this.#context;
    const fronts = frontCount(settings);
    this.#logging.announce({ listeners, edges: settings.sleep.edges, fronts }, 'ready');
    announceConsole(this.#logging, listeners, settings);
    if (secrets !== null)
      process.stderr.write(firstStartNotice(secrets, dataDirectory, consoleUrl(listeners)));
  }
}
