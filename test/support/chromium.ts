/** A headless Chromium with one page, driven by the DevTools protocol over a pipe, for tests of what people look at. */
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

/** JSON over `--remote-debugging-pipe`, each message ended by a zero byte. Emits the browser's events under their names, with their parameters. */
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

  /** Resolves to the command's result; rejects when the browser refuses it, or is gone. */
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
      this.#take(JSON.parse(message) as DevtoolsMessage);
    }
    if (rest.length > 0) this.#pieces.push(rest);
  }

  #take({ id, method, params, result, error }: DevtoolsMessage): void {
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

/** Why a test with a browser is left out here; false: it is not. */
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
  /** What pages threw, and what the browser complained of, a refused resource for one. */
  readonly problems: string[] = [];
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #exited: Promise<unknown>;
  readonly #pipe: DevtoolsPipe;
  #sessionId: string | undefined;

  private constructor(more: readonly string[]) {
    this.#profile = mkdtempSync(join(tmpdir(), 'reveille-chromium-'));
    const args = [...flags, ...more, `--user-data-dir=${this.#profile}`, 'about:blank'];
    // A process group of its own, to end with everything it started.
    this.#child = spawn('chromium', args, {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#exited = once(this.#child, 'exit');
    this.#exited.catch(() => undefined);
    this.#pipe = new DevtoolsPipe(this.#child.stdio[3] as Writable, this.#child.stdio[4] as Readable);
  }

  /** Closed when the test ends. Rejects with what to install where there is no Chromium. `more`: of its flags. */
  static async launch(t: Ending, more: readonly string[] = []): Promise<Chromium> {
    if (noChromium !== false) throw new Error(noChromium);
    const browser = new Chromium(more);
    t.after(() => browser.close());
    await browser.#attach();
    return browser;
  }

  /** Resolves when the document is parsed; its pictures may still be on their way. */
  async open(url: string): Promise<void> {
    const parsed = once(this.#pipe, 'Page.domContentEventFired');
    const { errorText } = (await this.#command('Page.navigate', { url })) as { errorText?: string };
    if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
    await parsed;
  }

  /** Runs the script in every page that is opened from now on, before its own. */
  async before(source: string): Promise<void> {
    await this.#command('Page.addScriptToEvaluateOnNewDocument', { source });
  }

  /** The value of an expression in the page, which must be JSON; a promise is waited for. */
  async evaluate<Value>(expression: string): Promise<Value> {
    // As a person who has clicked: without it a page may not make a sound.
    const parameters = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = (await this.#command('Runtime.evaluate', parameters)) as Evaluated;
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as Value;
  }

  /** Resolves when the expression is true in the page, which is asked at every repaint; rejects after `hangMsMax`. */
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

  /** Pixels of the window, in which the page is laid out again. */
  async resize(width: number, height: number): Promise<void> {
    const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#command('Emulation.setDeviceMetricsOverride', metrics);
  }

  /** Light or dark, as the person has set it. */
  async prefer(scheme: 'light' | 'dark'): Promise<void> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#command('Emulation.setEmulatedMedia', { features });
  }

  /** A click of the mouse, where in the window. */
  async click(x: number, y: number): Promise<void> {
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.#command('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
  }

  /** Presses a key and lets it go, `Tab` for one. `modifiers`: 8 is Shift. */
  async press(key: string, modifiers = 0): Promise<void> {
    const code = { Tab: 9, Enter: 13, Escape: 27, ' ': 32, ArrowDown: 40 }[key];
    const text = key === 'Enter' ? '\r' : key === ' ' ? ' ' : undefined;
    const stroke = { key, modifiers, windowsVirtualKeyCode: code };
    await this.#command('Input.dispatchKeyEvent', { type: 'keyDown', text, ...stroke });
    await this.#command('Input.dispatchKeyEvent', { type: 'keyUp', ...stroke });
  }

  /** Types into the control that has the focus. */
  async type(text: string): Promise<void> {
    await this.#command('Input.insertText', { text });
  }

  /** PNG of what is seen. */
  async screenshot(): Promise<Buffer> {
    const { data } = (await this.#command('Page.captureScreenshot', { format: 'png' })) as { data: string };
    return Buffer.from(data, 'base64');
  }

  /** May be called twice. */
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
