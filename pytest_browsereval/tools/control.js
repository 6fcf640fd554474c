  // What a label stands for, as Playwright takes it; a look at an element that is still there, and how old its
  // document is.
  const control = (one) => one.isContentEditable || one.matches(
    'a, input, textarea, button, select, [role=link], [role=button], [role=checkbox], [role=radio]'
  ) ? one : one.closest('label')?.control ?? one;
  const read = (one, look) => one?.isConnected ? [performance.now(), look(one)] : null;
