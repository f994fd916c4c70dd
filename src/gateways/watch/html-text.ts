/** HTML templates: a value put into one is escaped, unless it is HTML already. */

export class Html {
  readonly text: string;

  /** `text` is trusted: nothing of it may come from outside. */
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[];

/** A tag of template literals. Attributes must stand in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)));
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return String(part).replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
