/** The head of the overview: health, version, uptime and processes. */
import type { AlarmJson, AlarmsAnswer } from '../../server/health/alarm-watch.ts';
import { el, redraw } from '../dom.ts';
import { badge, linkTo, poll, type Page, type View } from '../page.ts';
import { formatSpan } from '../text.ts';
import { readSite, siteSections } from './cluster-view.ts';

const everyMs = 5000;

/** `failed`: as in `poll`. The link leads to the alarms. */
export function openHead(page: Page, failed: (sentence: string | null) => void): Omit<View, 'title'> {
  const head = el('p', { class: 'head' });
  const list = el('div');
  const processes = el('details', { hidden: true }, el('summary', {}, 'Processes'), list);
  let shown = '';
  const refresh = async (): Promise<void> => {
    const [{ node, version, started_at: startedAt, health, alarms }, site] = await Promise.all([
      page.client.read<AlarmsAnswer>('/v1/alarms'),
      readSite(page),
    ]);
    const firing = alarms.filter(({ state }) => state === 'firing');
    redraw(
      head,
      badgeOf(firing),
      el('span', {}, ' ', firing.length > 0 && el('a', { href: linkTo('alarms') }, health)),
      el(
        'span',
        {},
        ` ${node}, version ${version}, up for ${formatSpan(Date.now() - Date.parse(startedAt))}`,
      ),
    );
    const now = JSON.stringify(site);
    if (site === null || now === shown) return;
    shown = now;
    processes.hidden = false;
    redraw(list, ...siteSections(site));
  };
  const close = poll(everyMs, refresh, failed);
  return { content: el('div', {}, head, processes), close };
}

function badgeOf(firing: readonly AlarmJson[]): HTMLElement {
  if (firing.length === 0) return badge('healthy', 'good');
  const isCritical = firing.some(({ severity }) => severity === 'critical');
  return isCritical ? badge('critical', 'bad') : badge('warning', 'warn');
}
