/** The console in a browser: logs in, draws the frame of the page, and opens the view of the address. */
import { Client } from './client.ts';
import { el, setText } from './dom.ts';
import { openAlarms } from './views/alarms-view.ts';
import { openAudit } from './views/audit-view.ts';
import { openCall } from './views/call-view.ts';
import { openCalls } from './views/calls-view.ts';
import { openCluster } from './views/cluster-view.ts';
import { openDevice } from './views/device-view.ts';
import { openDevices } from './views/devices-view.ts';
import { openEvents } from './views/events-view.ts';
import { loginView } from './views/login-view.ts';
import { openOverview } from './views/overview-view.ts';
import { openRefused } from './views/refused-view.ts';
import { button, callPath, linkTo, sentenceOf, type OpenView, type Page, type View } from './page.ts';
import { openRegistry } from './views/registry-view.ts';
import { openSettings } from './views/settings-view.ts';
import { openWebhooks } from './views/webhooks-view.ts';

interface Entry {
  readonly name: string;
  readonly open: OpenView;
}

const views: Readonly<Record<string, Entry>> = {
  overview: { name: 'Overview', open: openOverview },
  alarms: { name: 'Alarms', open: openAlarms },
  devices: { name: 'Devices', open: openDevices },
  refused: { name: 'Refused', open: openRefused },
  registry: { name: 'Registry', open: openRegistry },
  webhooks: { name: 'Webhooks', open: openWebhooks },
  events: { name: 'Events', open: openEvents },
  calls: { name: 'Calls', open: openCalls },
  cluster: { name: 'Cluster', open: openCluster },
  audit: { name: 'Audit', open: openAudit },
  settings: { name: 'Settings', open: openSettings },
};

/** Views without a link in the header, each with the entry that is highlighted for it. */
const details: Readonly<Record<string, { readonly entry: string; readonly open: OpenView }>> = {
  device: { entry: 'devices', open: openDevice },
  call: { entry: 'calls', open: openCall },
};

class Console implements Page {
  readonly client = new Client(() => this.#showLogin('The session is over: log in again.'));
  readonly #brand = el('a', { class: 'brand', href: linkTo('overview') }, 'Reveille');
  readonly #nav = el('nav', { 'aria-label': 'Views', hidden: true });
  readonly #who = el('span', { class: 'who' });
  readonly #main = el('main', { id: 'main', tabindex: -1 });
  readonly #heading = el('h1');
  readonly #news = el('p', { class: 'news', role: 'status' });
  readonly #header: HTMLElement;
  #view: View | null = null;

  constructor() {
    const skip = el(
      'a',
      { class: 'skip', href: '#main', click: (event) => this.#skip(event) },
      'Skip to the content',
    );
    const out = el(
      'span',
      { class: 'out', hidden: true },
      this.#who,
      button('Log out', () => void this.#logOut()),
    );
    this.#header = el('header', {}, this.#brand, this.#nav, out);
    document.body.replaceChildren(skip, this.#header, this.#main, this.#news);
    window.addEventListener('hashchange', () => this.#route(true));
  }

  async start(): Promise<void> {
    const { path, query } = presentAddress();
    if (path === 'call' && !query.has('session')) return this.#openForViewer(query);
    try {
      if (await this.client.resume()) this.#begin();
      else this.#showLogin('');
    } catch (error) {
      this.#showLogin(sentenceOf(error));
    }
  }

  entitle(title: string): void {
    document.title = `${title} · Reveille`;
    this.#heading.replaceChildren(el('bdi', {}, title));
  }

  announce(text: string, kind?: 'good' | 'bad'): void {
    this.#news.className = `news ${kind ?? ''}`;
    setText(this.#news, text);
  }

  #begin(): void {
    const { name = '', role = '' } = this.client.session ?? {};
    this.#who.replaceChildren(el('bdi', {}, name), `, ${role}`);
    const links = Object.entries(views).map(([path, view]) =>
      el('li', {}, el('a', { href: linkTo(path), 'data-view': path }, view.name)),
    );
    this.#nav.replaceChildren(el('ul', {}, ...links));
    this.#frame(false);
    this.#route(false);
  }

  /** A ticket is valid once, so it is removed from the address. */
  #openForViewer(query: URLSearchParams): void {
    history.replaceState(null, '', callPath);
    this.#brand.removeAttribute('href');
    this.#open(openCall(this, query));
  }

  #frame(isHidden: boolean): void {
    for (const part of this.#header.querySelectorAll<HTMLElement>('nav, .out')) part.hidden = isHidden;
  }

  #showLogin(sentence: string): void {
    this.#frame(true);
    this.announce('');
    this.#open(loginView(this.client, sentence, () => this.#begin()));
  }

  async #logOut(): Promise<void> {
    try {
      await this.client.logOut();
      this.#showLogin('Logged out.');
    } catch (error) {
      this.announce(sentenceOf(error), 'bad');
    }
  }

  /** `isMoved`: after a link was followed, the focus moves to the heading of the view. */
  #route(isMoved: boolean): void {
    if (this.client.session === null) return;
    const { path, query } = presentAddress();
    const detail = Object.hasOwn(details, path) ? details[path] : undefined;
    const name = detail?.entry ?? (Object.hasOwn(views, path) ? path : 'overview');
    for (const link of this.#nav.querySelectorAll('a')) {
      if (link.dataset['view'] === name) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    const open = (detail ?? views[name])?.open;
    this.announce('');
    if (open !== undefined) this.#open(open(this, query));
    if (isMoved) this.#main.focus({ preventScroll: true });
  }

  #open(view: View): void {
    this.#view?.close();
    this.#view = view;
    this.entitle(view.title);
    this.#main.replaceChildren(this.#heading, view.content);
    window.scrollTo(0, 0);
  }

  /** Skips to the content without changing the address. */
  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }
}

function presentAddress(): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', query = ''] =
    location.pathname === callPath
      ? ['call', location.search]
      : location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { path, query: new URLSearchParams(query) };
}

await new Console().start();
