import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import typescript from 'typescript-5';
import { PROJECT } from '../cli.ts';

/** A file of the product: its path, its text, and its imports, including types and dynamic ones; our own files by path. */
export type Source = { path: string; text: string; imports: string[] };

/** The paths of all files that git tracks or would track. */
export const FILES = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard'], { cwd: PROJECT })
  .stdout.toString()
  .split('\n')
  .filter(Boolean);

/** The TypeScript files of `server/`, `cli/`, `shared/` and `deploy/`. */
export const SOURCES: readonly Source[] = FILES.filter(
  (path) => /^(server|cli|shared|deploy)\/.*\.ts$/.test(path) && !path.endsWith('.d.ts'),
).map((path) => {
  const text = readFileSync(join(PROJECT, path), 'utf8');
  const found = [...text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] as string,
  );
  const imports = found.map((name) => (name.startsWith('.') ? normalize(join(path, '..', name)) : name));
  return { path, text, imports };
});

const TREES = new WeakMap<object, typescript.SourceFile>();

/** The syntax tree of a file. Each object is parsed once, as several rules read the same files. */
export function treeOf(source: Pick<Source, 'path' | 'text'>): typescript.SourceFile {
  const made =
    TREES.get(source) ?? typescript.createSourceFile(source.path, source.text, typescript.ScriptTarget.Latest, true);
  TREES.set(source, made);
  return made;
}

/** The imports that are part of a cycle, as `importer → imported`. */
export function importsInCircles(sources: readonly Pick<Source, 'path' | 'imports'>[]): string[] {
  const importsOf = new Map(sources.map(({ path, imports }) => [path, imports]));
  const reachedFrom = (start: string): Set<string> => {
    const reached = new Set<string>();
    const waiting = [start];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      waiting.push(...(importsOf.get(path) ?? []));
    }
    return reached;
  };
  return sources.flatMap(({ path, imports }) =>
    imports.filter((name) => importsOf.has(name) && reachedFrom(name).has(path)).map((name) => `${path} → ${name}`),
  );
}

/** The functions of a file, including nested ones, with more lines than this, as `path: name`. */
export function longFunctions(source: Pick<Source, 'path' | 'text'>, maxLines: number): string[] {
  if (source.text.trimEnd().split('\n').length <= maxLines) return [];
  const file = treeOf(source);
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const found: string[] = [];
  const visit = (node: typescript.Node): void => {
    // Nothing in it can be longer.
    if (lineAt(node.end) - lineAt(node.pos) + 1 <= maxLines) return;
    if (typescript.isFunctionLike(node) && lineAt(node.end) - lineAt(node.getStart()) + 1 > maxLines) {
      found.push(`${source.path}: ${nameOf(node)}`);
    }
    typescript.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function nameOf(node: typescript.SignatureDeclaration): string {
  const named = node.name === undefined ? node.parent : node;
  const name = (named as { name?: typescript.Node }).name;
  return name?.getText() ?? 'a function without a name';
}

/** Matches the start of an SQL statement. The last group are also words of sentences, so they must begin the text. */
const SQL =
  /\bSELECT\b|\b(INSERT|REPLACE) (OR \w+ )?INTO\b|\bDELETE FROM\b|\bUPDATE [\w.]+ SET\b|\b(CREATE|DROP) (TEMP |UNIQUE )?(TABLE|INDEX|TRIGGER)\b|['"`](PRAGMA|VACUUM|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|ATTACH|DETACH|ANALYZE|REINDEX)\b/;

/**
 * Whether a file contains SQL as text, in a string or a template. Templates with Drizzle's tag `sql` inside a
 * statement of its builder are exempt, but not a statement that is one such template (`db.all(…)`).
 */
export function hasSqlText(source: Pick<Source, 'path' | 'text'>): boolean {
  if (!SQL.test(source.text)) return false;
  const isText = (node: typescript.Node): boolean => {
    if (typescript.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') {
      return (
        typescript.isTemplateExpression(node.template) &&
        node.template.templateSpans.some((one) => isText(one.expression))
      );
    }
    if (typescript.isCallExpression(node) && /^(db|tx)\.(all|get|run|values)$/.test(node.expression.getText()))
      return true;
    const isLiteral = typescript.isStringLiteralLike(node) || typescript.isTemplateExpression(node);
    if (isLiteral && SQL.test(node.getText())) return true;
    return typescript.forEachChild(node, (child) => isText(child) || undefined) ?? false;
  };
  return isText(treeOf(source));
}
