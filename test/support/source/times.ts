import typescript from 'typescript-5';
import { type Source, treeOf } from './sources.ts';

// Finds transactions that use a time read before they began. While a transaction waits for the write lock, time passes:
// a key or code expires, another process starts an attempt. So each reads the time itself.

/** The functions that run their last argument as a write transaction; their wrappers are found automatically. */
const TRANSACTIONS = ['write', 'writeProfiles', 'writeSessions', 'prepareWrite'];

/** The names of functions that read a clock, and of parameters that hold a time read by the caller. */
const TIME = /^(nowMs|settledMs)$/;

/** Finds all uses in a transaction of a time that was read before it began, as `path: function uses name`. */
export function timesReadOutside(sources: readonly Pick<Source, 'path' | 'text'>[]): string[] {
  const known = new Set(TRANSACTIONS);
  // Only files that call one of them are parsed.
  const callers = () => {
    const call = new RegExp(`\\b(${[...known].join('|')})\\s*(\\?\\.)?[(<]`);
    return sources.filter(({ text }) => call.test(text));
  };
  // Repeats until no more wrappers are found.
  for (let before = 0; before !== known.size; ) {
    before = known.size;
    for (const source of callers()) for (const name of findForwarders(treeOf(source), known)) known.add(name);
  }
  return callers().flatMap((source) =>
    [...new Set(usesIn(treeOf(source), known))].map((use) => `${source.path}: ${use}`),
  );
}

/** The functions of a file that run a function which they receive as a parameter in a transaction. */
function findForwarders(file: typescript.SourceFile, known: ReadonlySet<string>): string[] {
  const found: string[] = [];
  visitAll(file, (outer) => {
    if (!typescript.isFunctionDeclaration(outer) || outer.name === undefined) return;
    const given = new Set(outer.parameters.map(({ name }) => name.getText()));
    const isGiven = (node: typescript.Node) => typescript.isIdentifier(node) && given.has(node.text);
    visitAll(outer, (node) => {
      const act =
        typescript.isCallExpression(node) && known.has(nameOf(node.expression)) ? node.arguments.at(-1) : null;
      if (!act) return;
      let doesCall = isGiven(act);
      visitAll(act, (inner) => {
        doesCall ||= typescript.isCallExpression(inner) && isGiven(inner.expression);
      });
      if (doesCall) found.push((outer.name as typescript.Identifier).text);
    });
  });
  return found;
}

function usesIn(file: typescript.SourceFile, known: ReadonlySet<string>): string[] {
  const uses: string[] = [];
  visitAll(file, (node) => {
    if (!typescript.isCallExpression(node)) return;
    // The arguments of a prepared transaction: prepareWrite(sqlite, act)(…).
    const isPrepared = typescript.isCallExpression(node.expression) && known.has(nameOf(node.expression.expression));
    const act = known.has(nameOf(node.expression)) ? node.arguments.slice(-1).filter(isFunction) : [];
    for (const inside of isPrepared ? node.arguments : act) {
      uses.push(...outsideTimes(inside).map((name) => `${functionAround(node)} uses ${name}`));
    }
  });
  return uses;
}

/** The times that a node uses but doesn't read itself. */
function outsideTimes(act: typescript.Node): string[] {
  const found: string[] = [];
  visitAll(act, (node) => {
    if (!typescript.isIdentifier(node) || isDeclaredIn(act, node)) return;
    const { parent } = node;
    const isMember = typescript.isPropertyAccessExpression(parent) && parent.name === node;
    const isCalled = isMember && typescript.isCallExpression(parent.parent) && parent.parent.expression === parent;
    if (isMember) {
      const { expression } = parent;
      const isOwn = typescript.isIdentifier(expression) && isDeclaredIn(act, expression);
      if (TIME.test(node.text) && !isCalled && !isOwn) found.push(parent.getText());
      return;
    }
    if (isNameOfMember(node)) return;
    if (isTime(node)) found.push(node.text);
  });
  return found;
}

/** Whether a name declared outside is a time read there, or a value computed from one. */
function isTime(use: typescript.Identifier): boolean {
  const declaration = declarationOf(use);
  if (declaration === null) return false;
  if (typescript.isVariableDeclaration(declaration)) {
    const { initializer } = declaration;
    return initializer !== undefined && !isFunction(initializer) && readsClock(initializer);
  }
  return TIME.test(use.text);
}

function readsClock(root: typescript.Node): boolean {
  let does = false;
  visitAll(root, (node) => {
    if (typescript.isCallExpression(node) && TIME.test(nameOf(node.expression))) does = true;
    const isUse = typescript.isIdentifier(node) && !isNameOfMember(node);
    const isMember = isUse && typescript.isPropertyAccessExpression(node.parent) && node.parent.name === node;
    if (isUse && !isMember && declarationOf(node) !== null && isTime(node)) does = true;
  });
  return does;
}

/** The parameter or variable that a name refers to; null if no enclosing function declares it. */
function declarationOf(use: typescript.Identifier): typescript.Declaration | null {
  for (let around: typescript.Node | undefined = use.parent; around !== undefined; around = around.parent) {
    const declared = declaredBy(around).find(({ name }) => name === use.text);
    if (declared !== undefined) return declared.declaration;
  }
  return null;
}

type Declared = { name: string; declaration: typescript.Declaration };

/** The declarations of a function or block itself. */
function declaredBy(node: typescript.Node): Declared[] {
  if (typescript.isFunctionLike(node)) return node.parameters.flatMap((one) => namesIn(one.name, one));
  if (!typescript.isBlock(node) && !typescript.isSourceFile(node)) return [];
  return node.statements.flatMap((statement) =>
    typescript.isVariableStatement(statement)
      ? statement.declarationList.declarations.flatMap((one) => namesIn(one.name, one))
      : [],
  );
}

function namesIn(name: typescript.BindingName, declaration: typescript.Declaration): Declared[] {
  if (typescript.isIdentifier(name)) return [{ name: name.text, declaration }];
  return name.elements.flatMap((one) => (typescript.isBindingElement(one) ? namesIn(one.name, one) : []));
}

function isDeclaredIn(act: typescript.Node, use: typescript.Identifier): boolean {
  const declaration = declarationOf(use);
  return declaration !== null && declaration.pos >= act.pos && declaration.end <= act.end;
}

/** Whether a name is only the name of an object's member. */
function isNameOfMember(node: typescript.Identifier): boolean {
  const { parent } = node;
  return (
    (typescript.isPropertyAssignment(parent) && parent.name === node) ||
    (typescript.isBindingElement(parent) && parent.propertyName === node) ||
    typescript.isPropertySignature(parent)
  );
}

function isFunction(node: typescript.Node): boolean {
  return typescript.isArrowFunction(node) || typescript.isFunctionExpression(node);
}

/** `write` of `write(…)` and of `db.write(…)`. */
function nameOf(callee: typescript.Expression): string {
  if (typescript.isIdentifier(callee)) return callee.text;
  return typescript.isPropertyAccessExpression(callee) ? callee.name.text : '';
}

function functionAround(node: typescript.Node): string {
  for (let around = node.parent; around !== undefined; around = around.parent) {
    if (typescript.isFunctionDeclaration(around) && around.name !== undefined) return around.name.text;
  }
  return 'the file';
}

function visitAll(root: typescript.Node, visit: (node: typescript.Node) => void): void {
  visit(root);
  typescript.forEachChild(root, (child) => visitAll(child, visit));
}
