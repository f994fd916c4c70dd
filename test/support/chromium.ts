/** Drives a headless Chromium with one page by the DevTools protocol over a pipe, for tests of the console. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once, EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { missingTool } from './debian-tools.ts';
import { hangMsMax } from './hang-limit.ts';
import type { Ending } from './temporary-store.ts';

interface DevtoolsMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * JSON messages over `--remote-debugging-pipe`, each terminated by a zero byte. Emits the browser's events by name, with their
 * parameters.
 */
class DevtoolsPipe extends EventEmitter {
  readonly #toBrowser: Writable;
  readonly #waiting = new Map<number, Waiting>();
  #pieces: Buffer[] = [];
  #isClosed = false;
  #lastId = 0;

  constructor(toBrowser: Writable, fromBrowser: Readable) {
    super();
    this.#toBrowser = toBrowser;
    toBrowser.on('error', () => this.#close());
    fromBrowser.on('data', (piece: Buffer) => this.#receive(piece));
    fromBrowser.on('error', () => this.#close());
    fromBrowser.on('close', () => this.#close());
  }

  /** Resolves to the command's result. Rejects when the browser refuses it or has exited. */
  send(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error(`${method}: the browser is gone`));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#toBrowser.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  #receive(piece: Buffer): void {
    let rest = piece;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const message = Buffer.concat([...this.#pieces, rest.subarray(0, end)]).toString('utf8');
      this.#pieces = [];
      rest = rest.subarray(end + 1);
      this.#dispatch(JSON.parse(message) as DevtoolsMessage);
    }
    if (rest.length > 0) this.#pieces.push(rest);
  }

  #dispatch({ id, method, params, result, error }: DevtoolsMessage): void {
    if (method !== undefined) this.emit(method, params);
    const waiting = this.#waiting.get(id ?? 0);
    if (id === undefined || waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(error.message));
  }

  #close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values()) reject(new Error('the browser is gone'));
    this.#waiting.clear();
  }
}

/** Reason to skip tests that need a browser; false: none. */
export const noChromium = missingTool('chromium') ?? false;

const flags = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--no-proxy-server',
  '--force-color-profile=srgb',
  '--window-size=1280,800',
  '--remote-debugging-pipe',
];

interface Evaluated {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: {
    readonly text: string;
    readonly exception?: { readonly description?: string };
  };
}

export class Chromium {
  /** Exceptions of pages, and errors that the browser logged, such as a blocked resource. */
  readonly problems: string[] = [];
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #exited: Promise<unknown>;
  readonly #pipe: DevtoolsPipe;
  #sessionId: string | undefined;

  private constructor(more: readonly string[]) {
    this.#profile = mkdtempSync(join(tmpdir(), 'reveille-chromium-'));
    const args = [...flags, ...more, `--user-data-dir=${this.#profile}`, 'about:blank'];
    // Its own process group, so that all its processes can be killed.
    this.#child = spawn('chromium', args, {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#exited = once(this.#child, 'exit');
    this.#exited.catch(() => undefined);
    this.#pipe = new DevtoolsPipe(this.#child.stdio[3] as Writable, this.#child.stdio[4] as Readable);
  }

  /** Closes with the test. Rejects with the package to install if Chromium is missing. `more`: additional flags. */
  static async launch(t: Ending, more: readonly string[] = []): Promise<Chromium> {
    if (noChromium !== false) throw new Error(noChromium);
    const browser = new Chromium(more);
    t.after(() => browser.close());
    await browser.#attach();
    return browser;
  }

  /** Resolves when the document is parsed; images may still be loading. */
  async open(url: string): Promise<void> {
    const parsed = once(this.#pipe, 'Page.domContentEventFired');
    const { errorText } = (await this.#command('Page.navigate', { url })) as { errorText?: string };
    if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
    await parsed;
  }

  /** Runs the script in every page opened from now on, before the page's own scripts. */
  async before(source: string): Promise<void> {
    await this.#command('Page.addScriptToEvaluateOnNewDocument', { source });
  }

  /** Evaluates an expression in the page and resolves to its JSON value; awaits a promise. */
  async evaluate<Value>(expression: string): Promise<Value> {
    // A user gesture: without one a page may not play sound.
    const parameters = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = (await this.#command('Runtime.evaluate', parameters)) as Evaluated;
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as Value;
  }

  /** Resolves when the expression is true in the page; evaluates it at every repaint. Rejects after `hangMsMax`. */
  async until(expression: string): Promise<void> {
    await this.evaluate(`new Promise((resolve, reject) => {
      const end = performance.now() + ${hangMsMax};
      const look = () => {
        if (${expression}) resolve();
        else if (performance.now() > end) reject(new Error(${JSON.stringify(`never true: ${expression}`)}));
        else requestAnimationFrame(look);
      };
      look();
    })`);
  }

  async resize(width: number, height: number): Promise<void> {
    const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#command('Emulation.setDeviceMetricsOverride', metrics);
  }

  async prefer(scheme: 'light' | 'dark'): Promise<void> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#command('Emulation.setEmulatedMedia', { features });
  }

  /** Clicks at a position in the window, pixels. */
  async click(x: number, y: number): Promise<void> {
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.#command('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
  }

  /** Presses and releases a key, such as `Tab`. `modifiers`: 8 is Shift. */
  async press(key: string, modifiers = 0): Promise<void> {
    const code = { Tab: 9, Enter: 13, Escape: 27, ' ': 32, ArrowDown: 40 }[key];
    const text = key === 'Enter' ? '\r' : key === ' ' ? ' ' : undefined;
    const stroke = { key, modifiers, windowsVirtualKeyCode: code };
    await this.#command('Input.dispatchKeyEvent', { type: 'keyDown', text, ...stroke });
    await this.#command('Input.dispatchKeyEvent', { type: 'keyUp', ...stroke });
  }

  async type(text: string): Promise<void> {
    await this.#command('Input.insertText', { text });
  }

  async screenshot(): Promise<Buffer> {
    const { data } = (await this.#command('Page.captureScreenshot', { format: 'png' })) as { data: string };
    return Buffer.from(data, 'base64');
  }

  async close(): Promise<void> {
    const { pid } = this.#child;
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      process.kill(-pid, 'SIGKILL');
      await this.#exited;
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async #attach(): Promise<void> {
    const { targetInfos } = (await this.#pipe.send('Target.getTargets')) as {
      targetInfos: { targetId: string; type: string }[];
    };
    const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId;
    const attached = await this.#pipe.send('Target.attachToTarget', { targetId, flatten: true });
    this.#sessionId = (attached as { sessionId: string }).sessionId;
    this.#pipe.on('Runtime.exceptionThrown', ({ exceptionDetails }: Evaluated) =>
      this.problems.push(exceptionDetails?.exception?.description ?? exceptionDetails?.text ?? ''),
    );
    this.#pipe.on('Log.entryAdded', ({ entry }: { entry: { level: string; text: string; url?: string } }) => {
      if (entry.level === 'error') this.problems.push(`${entry.text} ${entry.url ?? ''}`.trimEnd());
    });
    for (const domain of ['Page', 'Runtime', 'Log']) await this.#command(`${domain}.enable`);
  }

  #command(method: string, params: object = {}): Promise<unknown> {
    return this.#pipe.send(method, params, this.#sessionId);
  }
}
