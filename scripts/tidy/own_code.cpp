// SPDX-License-Identifier: Apache-2.0
// A plugin of clang-tidy that shows its checks our own code and not the system's headers, where what they
// find is thrown away, after more than half of all the time. The static analyzer is not concerned: it goes
// into the headers from the functions of ours. Needs libclang-19-dev; LLVM is built without RTTI.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

#include <memory>
#include <string>
#include <vector>

namespace {

class OwnCode : public clang::ASTConsumer {
 public:
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& sources = context.getSourceManager();
    std::vector<clang::Decl*> ours;
    for (clang::Decl* declaration : context.getTranslationUnitDecl()->decls())
      if (!sources.isInSystemHeader(sources.getExpansionLoc(declaration->getLocation())))
        ours.push_back(declaration);
    context.setTraversalScope(ours);
  }
};

class OwnCodeAction : public clang::PluginASTAction {
 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<OwnCode>();
  }
  bool ParseArgs(const clang::CompilerInstance& /*compiler*/,
                 const std::vector<std::string>& /*arguments*/) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

const clang::FrontendPluginRegistry::Add<OwnCodeAction> kRegistered("own-code", "checks see our own code");

}  // namespace
