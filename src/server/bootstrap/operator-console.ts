/** The console of the ops listener, where it is on: its page, the sessions of those who have logged in, and its figures. */
import type { Cancel } from '../../lib/clock.ts';
import { loadConsoleAssets } from '../../gateways/console/console-assets.ts';
import { ConsoleService } from '../../gateways/console/console-service.ts';
import { ConsoleSessions } from '../../gateways/console/console-sessions.ts';
import { figuresRoute } from '../../gateways/console/figures-route.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { Operators } from '../../gateways/ops/operators.ts';
import type { RefusedCredentials } from '../../gateways/ops/refused-credentials.ts';
import type { Console } from '../../gateways/ops/ops-listener.ts';
import { FigureHistory } from '../../telemetry/figure-history.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import { settingsRoute } from '../config/settings-route.ts';
import type { ServerContext } from './server-context.ts';

export interface OperatorConsoleDeps extends Pick<
  ServerContext,
  'clock' | 'log' | 'settings' | 'configured' | 'sharers'
> {
  readonly operators: Operators;
  readonly refusals: RefusedCredentials;
  /** Of all processes that the listener speaks for. */
  readonly exposition: Exposition;
}

export class OperatorConsole {
  /** Null: it is off. */
  readonly page: Console | null;
  readonly routes: readonly AdminRoute[];
  readonly #figures: FigureHistory | null;
  #stopFigures: Cancel = () => undefined;

  constructor(deps: OperatorConsoleDeps) {
    const { clock, log, settings, operators, refusals, exposition } = deps;
    const isOn = settings.ops.console;
    const sessions = new ConsoleSessions(clock, operators);
    const service = new ConsoleService({ sessions, loadAssets: loadConsoleAssets, refusals, log });
    this.page = isOn ? { sessions, service } : null;
    this.#figures = isOn ? new FigureHistory({ clock, exposition }) : null;
    this.routes = [settingsRoute(deps), ...(this.#figures === null ? [] : [figuresRoute(this.#figures)])];
  }

  /** From now on figures are noted. */
  start(): void {
    if (this.#figures !== null) this.#stopFigures = this.#figures.start();
  }

  stop(): void {
    this.#stopFigures();
  }
}
